#include "trainer_client/plans/local_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "schemas/wire/range_table.h"

namespace headrace::client {
namespace {

// A change within one step of the clock for files leaves a file's time as it is. Steps take 10 ms or less.
constexpr std::chrono::milliseconds kStep(20);

std::int64_t ModifiedNs(const struct stat& state) {
  return std::int64_t{state.st_mtim.tv_sec} * 1'000'000'000 + state.st_mtim.tv_nsec;
}

std::string VersionOf(const struct stat& state) {
  return wire::VersionOfFile(static_cast<std::uint64_t>(state.st_size), ModifiedNs(state));
}

}  // namespace

Result<LocalFile> LocalFile::Open(const std::string& path) {
  LocalFile file;
  std::error_code error;
  file.path_ = std::filesystem::absolute(path, error).lexically_normal().string();
  if (error) return ErrnoStatus(error.value(), path);
  // A FIFO in the place of a file is an error, not a wait.
  file.fd_ = UniqueFd(::open(file.path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.fd_.valid()) return ErrnoStatus(errno, file.path_);
  struct stat state {};
  while (true) {
    if (::fstat(file.fd_.get(), &state) != 0) return ErrnoStatus(errno, file.path_);
    if (!S_ISREG(state.st_mode)) return InvalidArgument(file.path_ + " is no regular file");
    const std::int64_t age = Clock::Real().WallMillis() - ModifiedNs(state) / 1'000'000;
    if (age < 0 || age > kStep.count()) break;
    std::this_thread::sleep_for(kStep);
  }
  file.size_ = static_cast<std::uint64_t>(state.st_size);
  file.version_ = VersionOf(state);
  return file;
}

Result<Bytes> LocalFile::Read(std::uint64_t first, std::uint64_t bytes) const {
  Bytes read(static_cast<std::size_t>(bytes));
  std::size_t done = 0;
  while (done < read.size()) {
    const ssize_t got = ::pread(fd_.get(), read.data() + done, read.size() - done,
                                static_cast<off_t>(first + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, path_);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  read.resize(done);
  return read;
}

Status LocalFile::CheckSame() const {
  struct stat state {};
  if (::fstat(fd_.get(), &state) != 0) return ErrnoStatus(errno, path_);
  if (VersionOf(state) == version_) return {};
  return Unavailable(path_ + " changed while its samples were listed");
}

}  // namespace headrace::client
