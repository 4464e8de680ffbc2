#include "dataworker/source/files/sample_file.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/log.h"

namespace headrace::dataworker {
namespace {

constexpr std::size_t kProbe = std::size_t{64} << 10;

// Opens a path; without waiting, only if all of its directory entries are in memory.
int OpenPath(const char* path, int flags, Pace& pace) {
  if (pace.may_wait) return ::open(path, flags);
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_CACHED;
  const long fd = ::syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
  if (fd >= 0) return static_cast<int>(fd);
  if (errno == EAGAIN) pace.would_wait = true;
  // Unknown to an older kernel, or kept from us by a filter of system calls.
  if (errno == ENOSYS || errno == EINVAL || errno == E2BIG || errno == EPERM) {
    pace.cannot_tell = true;
  }
  return -1;
}

ssize_t ReadAt(int fd, std::byte* out, std::size_t size, std::size_t from, Pace& pace) {
  const auto offset = static_cast<off_t>(from);
  if (pace.may_wait) return ::pread(fd, out, size, offset);
  const iovec piece{out, size};
  const ssize_t n = ::preadv2(fd, &piece, 1, offset, RWF_NOWAIT);
  if (n < 0 && errno == EAGAIN) pace.would_wait = true;
  if (n < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL)) {
    pace.cannot_tell = true;
  }
  return n;
}

std::string Handle(const File& file) { return "/proc/self/fd/" + std::to_string(file.fd()); }

bool Below(std::string_view path, std::string_view root) {
  return root == "/" ||
         (path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/'));
}

}  // namespace

Status FileStatus(int error_number, const std::string& path) {
  const Status status = ErrnoStatus(error_number, path);
  return status.code() == Code::kNotFound ? status.WithDetail(Detail::kNoFile) : status;
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

Result<File> Opener::Place(const std::string& path, Pace& pace) const {
  File place(OpenPath(path.c_str(), O_PATH | O_CLOEXEC, pace));
  if (place.fd() < 0) return FileStatus(errno, path);
  if (roots_.empty()) return place;
  // Checks the opened file, not its name, which may mean another file a moment later.
  std::array<char, PATH_MAX> real{};
  const ssize_t size = ::readlink(Handle(place).c_str(), real.data(), real.size());
  if (size < 0) return FileStatus(errno, path);
  const std::string_view at(real.data(), static_cast<std::size_t>(size));
  if (std::any_of(roots_.begin(), roots_.end(), [&](const auto& r) { return Below(at, r); })) {
    return place;
  }
  const std::string where = at == path ? path : path + " -> " + std::string(at);
  if (!warned_.exchange(true)) LogWarning("outside of every --allow-root: " + where);
  return Unavailable(where + ": this worker reads below its --allow-root only")
      .WithDetail(Detail::kNotAllowed);
}

// O_NONBLOCK: a FIFO in the list must not hang the thread. It changes nothing for regular files.
Result<File> Opener::Open(const std::string& path, Pace& pace) const {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  if (!roots_.empty()) {
    HR_TRY(const File allowed, Place(path, pace));
    File file(::open(Handle(allowed).c_str(), kFlags));
    if (file.fd() < 0) return FileStatus(errno, path);
    return file;
  }
  File file(OpenPath(path.c_str(), kFlags, pace));
  if (file.fd() < 0) return FileStatus(errno, path);
  return file;
}

Status Opener::Stat(const std::string& path, struct stat& st, Pace& pace) const {
  if (pace.may_wait && roots_.empty()) {
    return ::stat(path.c_str(), &st) == 0 ? Status() : FileStatus(errno, path);
  }
  HR_TRY(const File place, Place(path, pace));
  return ::fstat(place.fd(), &st) == 0 ? Status() : FileStatus(errno, path);
}

Result<std::size_t> ReadFrom(int fd, std::uint64_t first, MutableByteSpan out,
                             const std::string& path, Pace& pace) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = ReadAt(fd, out.data() + done, out.size() - done, first + done, pace);
    if (n == 0) break;
    if (n < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "read " + path);
    }
    done += static_cast<std::size_t>(n);
  }
  return done;
}

void CheckInMemory(int fd, std::size_t from, std::size_t to, Pace& pace) {
  std::byte unused{};
  for (std::size_t at = from; at < to && !pace.given_up(); at += kProbe) {
    (void)ReadAt(fd, &unused, 1, at, pace);
  }
  if (to > from && !pace.given_up()) (void)ReadAt(fd, &unused, 1, to - 1, pace);
}

}  // namespace headrace::dataworker
