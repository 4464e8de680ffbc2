#include "dataworker/cache/disk/disk_calls.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

namespace headrace::dataworker {

int DiskCalls::Write(int fd, std::uint64_t offset, ByteSpan header, ByteSpan payload) {
  while (!header.empty() || !payload.empty()) {
    const std::array<iovec, 2> parts = {
        iovec{const_cast<std::byte*>(header.data()), header.size()},
        iovec{const_cast<std::byte*>(payload.data()), payload.size()}};
    const ssize_t wrote =
        ::pwritev(fd, parts.data(), static_cast<int>(parts.size()), static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return wrote < 0 ? errno : EIO;
    const auto bytes = static_cast<std::size_t>(wrote);
    const std::size_t of_header = std::min(bytes, header.size());
    header = header.subspan(of_header);
    payload = payload.subspan(bytes - of_header);
    offset += bytes;
  }
  return 0;
}

int DiskCalls::Read(int fd, std::uint64_t offset, MutableByteSpan into) {
  while (!into.empty()) {
    const ssize_t read = ::pread(fd, into.data(), into.size(), static_cast<off_t>(offset));
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) return read < 0 ? errno : EIO;
    into = into.subspan(static_cast<std::size_t>(read));
    offset += static_cast<std::uint64_t>(read);
  }
  return 0;
}

int DiskCalls::ReadNow(int fd, std::uint64_t offset, MutableByteSpan into) {
  const iovec part{into.data(), into.size()};
  const ssize_t read = ::preadv2(fd, &part, 1, static_cast<off_t>(offset), RWF_NOWAIT);
  return read >= 0 && static_cast<std::size_t>(read) == into.size() ? 0 : EAGAIN;
}

bool DiskCalls::CanReadNow(int fd) {
  std::byte one{};
  const iovec part{&one, 1};
  // The kernel looks at this before it looks for the byte, so an empty file tells, too.
  return ::preadv2(fd, &part, 1, 0, RWF_NOWAIT) >= 0 || errno == EAGAIN;
}

int DiskCalls::Reserve(int fd, std::uint64_t bytes) {
  // Not posix_fallocate: where the file system can't reserve, that writes all of the file.
  if (::fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0) return 0;
  // Such a file system takes what is written as long as it has room.
  return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : errno;
}

DiskCalls& DiskCalls::Real() {
  static DiskCalls real;
  return real;
}

}  // namespace headrace::dataworker
