#include "shared_block.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace @NAME@_controller
{
namespace
{

[[noreturn]] void fail(const std::string & name, const std::string & what, int error)
{
  throw std::runtime_error("shared block " + name + ": " + what + ": " + std::strerror(error));
}

// The lock of one byte ends with the process, however it ends.
bool lock(int file)
{
  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = @PREFIX@LOCK_CONTROLLER;
  range.l_len = 1;
  return fcntl(file, F_OFD_SETLK, &range) == 0;
}

}  // namespace

SharedBlock::SharedBlock(const std::string & name)
: name_(name)
{
  file_ = shm_open(name_.c_str(), O_RDWR | O_CREAT, S_IRUSR | S_IWUSR);
  if (file_ < 0) {
    fail(name_, "cannot be opened; the parameter `block` must be of the form /name, and a block of "
      "that name must not be of another user", errno);
  }
  if (!lock(file_)) {
    const int error = errno;
    close(file_);
    fail(name_, "another controller uses it; give each its own by the parameter `block`, and the "
      "node that owns it the same by `shared_block`", error);
  }
  struct stat found = {};
  if (fstat(file_, &found) == 0 && found.st_size != 0) {
    // left by a process that was killed: its owner may still have it mapped
    shm_unlink(name_.c_str());
    close(file_);
    file_ = shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
    if (file_ < 0 || !lock(file_)) {
      fail(name_, "cannot be made anew", errno);
    }
  }
  reserve();
  static const int64_t head[] = @PREFIX@BLOCK_HEAD;
  for (size_t k = 1; k < sizeof(head) / sizeof(head[0]); ++k) {
    store(static_cast<int>(k), head[k]);
  }
  static const char about[] = @PREFIX@BLOCK_ABOUT;
  std::memcpy(at(@PREFIX@BLOCK_TEXT), about, sizeof(about));
  store(@PREFIX@WORD_CURRENT, -1);
  store(@PREFIX@WORD_USING, -1);
  store(0, head[0]);  // last: without it the block is not read
}

void SharedBlock::reserve()
{
  // without memory for it a store would end the process later
  const int error = posix_fallocate(file_, 0, @PREFIX@BLOCK_BYTES);
  void * memory = error ? MAP_FAILED : mmap(
    nullptr, @PREFIX@BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file_, 0);
  if (memory == MAP_FAILED) {
    const int reason = error ? error : errno;
    shm_unlink(name_.c_str());
    close(file_);
    fail(name_, "no memory for it; make /dev/shm larger", reason);
  }
  words_ = static_cast<int64_t *>(memory);
}

SharedBlock::~SharedBlock()
{
  store(@PREFIX@WORD_ACTIVE, 0);
  munmap(words_, @PREFIX@BLOCK_BYTES);
  shm_unlink(name_.c_str());
  close(file_);
}

double SharedBlock::number(int word) const
{
  const int64_t bits = load(word);
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace @NAME@_controller
