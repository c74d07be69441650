// Block in shared memory between this controller and the node that owns its motions.

#ifndef SHARED_BLOCK_HPP_
#define SHARED_BLOCK_HPP_

#include <cstddef>
#include <cstdint>
#include <string>

#include "@NAME@_block.h"

namespace @NAME@_controller
{

/// Memory of other processes, too: words are read and written whole, in one order for all.
class SharedBlock
{
public:
  /// Create the block; throws std::runtime_error with a remedy.
  explicit SharedBlock(const std::string & name);
  ~SharedBlock();
  SharedBlock(const SharedBlock &) = delete;
  SharedBlock & operator=(const SharedBlock &) = delete;

  int64_t load(int word) const {return __atomic_load_n(words_ + word, __ATOMIC_SEQ_CST);}
  void store(int word, int64_t value) {__atomic_store_n(words_ + word, value, __ATOMIC_SEQ_CST);}
  double number(int word) const;

  /// Return the address of a part, by its offset in bytes.
  void * at(size_t offset) {return reinterpret_cast<char *>(words_) + offset;}
  const std::string & name() const {return name_;}

private:
  void remove_left();
  void reserve();

  std::string name_;
  int file_ = -1;
  int64_t * words_ = nullptr;
};

}  // namespace @NAME@_controller

#endif  // SHARED_BLOCK_HPP_
