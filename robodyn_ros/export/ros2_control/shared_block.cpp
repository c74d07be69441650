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

void check(const std::string & name)
{
  const std::string usual =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  if (name.size() < 2 || name.size() > 200 || name[0] != '/' || name[1] == '.' ||
    name.find_first_not_of(usual, 1) != std::string::npos)
  {
    fail(name, "the parameter `block` must be / and letters, digits, '.', '_' or '-'", EINVAL);
  }
}

}  // namespace

SharedBlock::SharedBlock(const std::string & name)
: name_(name)
{
  check(name_);
  remove_left();
  // a file that was there before may still be open in a process of another user
  file_ = shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  if (file_ < 0 || !lock(file_)) {
    const int error = errno;
    if (file_ >= 0) {
      close(file_);
    }
    fail(name_, "cannot be made; another controller may be starting with the same name", error);
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

void SharedBlock::remove_left()
{
  file_ = shm_open(name_.c_str(), O_RDWR | O_NOFOLLOW, 0);
  if (file_ < 0 && errno == ENOENT) {
    return;
  }
  const int error = errno;
  struct stat found = {};
  if (lstat(("/dev/shm" + name_).c_str(), &found) == 0 && found.st_uid != geteuid()) {
    if (file_ >= 0) {
      close(file_);
    }
    fail(name_, "belongs to user " + std::to_string(found.st_uid) + ", and this process to user " +
      std::to_string(geteuid()) + "; remove it, or choose another name by the parameter `block`",
      EPERM);
  }
  if (file_ < 0) {
    fail(name_, "cannot be opened; remove it from /dev/shm", error);
  }
  if (!lock(file_)) {
    const int reason = errno;
    close(file_);
    fail(name_, "another controller uses it; give each its own by the parameter `block`, and the "
      "node that owns it the same by `shared_block`", reason);
  }
  // left by a process that was killed: its owner may still have it mapped
  shm_unlink(name_.c_str());
  close(file_);
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
