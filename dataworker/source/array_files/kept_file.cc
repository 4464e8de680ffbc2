#include "dataworker/source/array_files/kept_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "dataworker/source/ranges/ranges.h"
#include "schemas/wire/range_table.h"

namespace headrace::dataworker {

KeptFile::~KeptFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status KeptFile::CheckState(int fd) const {
  struct stat st;
  if (::fstat(fd, &st) != 0) return FileStatus(errno, path_);
  if (!S_ISREG(st.st_mode)) return Unsupported("not a regular file: " + path_);
  const std::int64_t mtime_ns =
      std::int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec;
  const auto size = static_cast<std::uint64_t>(st.st_size);
  if (wire::VersionOfFile(size, mtime_ns) == version_) return {};
  return Unavailable(path_ + kChangedShard);
}

// Several threads may open it at the same time. The first one's stays.
Result<int> KeptFile::Descriptor(Pace& pace) const {
  if (const int kept = fd_.load(std::memory_order_acquire); kept >= 0) return kept;
  HR_TRY(const File opened, opener_.Open(path_, pace));
  HR_RETURN_IF_ERROR(CheckState(opened.fd()));
  const int mine = ::fcntl(opened.fd(), F_DUPFD_CLOEXEC, 0);
  if (mine < 0) return FileStatus(errno, path_);
  int expected = -1;
  if (fd_.compare_exchange_strong(expected, mine, std::memory_order_acq_rel)) return mine;
  ::close(mine);
  return expected;
}

// The state is looked at after the bytes: a write before that shows in it.
Status KeptFile::Read(std::uint64_t first, MutableByteSpan out, Pace& pace) const {
  HR_TRY(const int fd, Descriptor(pace));
  HR_TRY(const std::size_t got, ReadFrom(fd, first, out, path_, pace));
  HR_RETURN_IF_ERROR(CheckState(fd));
  if (got == out.size()) return {};
  return Unavailable("ends before the sample does: " + path_);
}

}  // namespace headrace::dataworker
