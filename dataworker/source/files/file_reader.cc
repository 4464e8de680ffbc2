#include "dataworker/source/files/file_reader.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace headrace::dataworker {
namespace {

ContentIdentity IdentityOf(const struct stat& st) {
  constexpr std::int64_t kNanos = 1'000'000'000;
  const auto nanos = [](const timespec& time) {
    return static_cast<std::uint64_t>(time.tv_sec * kNanos + time.tv_nsec);
  };
  return {
      .place = {st.st_dev, st.st_ino},
      .version = {static_cast<std::uint64_t>(st.st_size), nanos(st.st_mtim), nanos(st.st_ctim)}};
}

Status CheckRegular(const struct stat& st, const std::string& path) {
  if (S_ISDIR(st.st_mode)) return {Code::kUnsupported, "is a directory: " + path};
  if (!S_ISREG(st.st_mode)) return {Code::kUnsupported, "not a regular file: " + path};
  if (static_cast<std::uint64_t>(st.st_size) > Source::kMaxEncodedBytes) {
    return {Code::kUnsupported, "larger than 1 GiB: " + path};
  }
  return {};
}

}  // namespace

Result<FileReader::Opened> FileReader::Open(const std::string& path, Pace& pace) const {
  HR_TRY(File file, opener_.Open(path, pace));
  struct stat st;
  if (::fstat(file.fd(), &st) != 0) return FileStatus(errno, path);
  HR_RETURN_IF_ERROR(CheckRegular(st, path));
  return Opened{std::move(file), static_cast<std::size_t>(st.st_size), IdentityOf(st)};
}

Status FileReader::Read(const Opened& opened, const std::string& path, MutableByteSpan out,
                        Pace& pace) {
  HR_TRY(const std::size_t got, ReadStart(opened.file.fd(), out, path, pace));
  // A writer may be at work: bytes of two versions must not get the identity of one.
  struct stat after;
  if (::fstat(opened.file.fd(), &after) != 0) return FileStatus(errno, path);
  if (got == opened.size && IdentityOf(after) == opened.content) return {};
  return Unavailable("changed while it was read: " + path);
}

Result<ContentIdentity> FileReader::Identify(const std::string& path, Pace& pace) const {
  struct stat st;
  HR_RETURN_IF_ERROR(opener_.Stat(path, st, pace));
  HR_RETURN_IF_ERROR(CheckRegular(st, path));
  return IdentityOf(st);
}

Result<TensorSpec> FileReader::Describe(const std::string& path, ScratchBuffer& buffer,
                                        std::uint64_t* bytes_read, Pace& pace) const {
  HR_TRY(const Opened opened, Open(path, pace));
  ByteSpan have;
  Status failed;
  const auto extend = [&](std::size_t wanted) -> ByteSpan {
    const std::size_t target = std::min(wanted, opened.size);
    if (target <= have.size() || !failed.ok()) return have;
    // Ensure may lose the content, so the read starts over; headers that long are rare.
    const MutableByteSpan out{reinterpret_cast<std::byte*>(buffer.Ensure(target)), target};
    Result<std::size_t> got = ReadStart(opened.file.fd(), out, path, pace);
    if (!got.ok()) {
      failed = got.status();
      have = {};
    } else {
      have = out.first(*got);
      *bytes_read += *got;
    }
    return have;
  };
  extend(Source::kHeadBytes);
  HR_RETURN_IF_ERROR(failed);
  Result<TensorSpec> spec = read_header_(have, extend);
  HR_RETURN_IF_ERROR(failed);
  if (!spec.ok()) return spec.status().WithContext(path);
  return spec;
}

Result<FileWitness> FileReader::BearWitness(const std::string& path, bool whole,
                                            std::uint64_t* bytes_read, Pace& pace) const {
  HR_TRY(const File file, opener_.Open(path, pace));
  if (!pace.may_wait) {
    struct stat st;
    if (::fstat(file.fd(), &st) != 0) return FileStatus(errno, path);
    const auto size = static_cast<std::size_t>(st.st_size);
    const std::size_t end = std::min<std::size_t>(FileWitness::kEndBytes, size);
    CheckInMemory(file.fd(), 0, whole ? size : end, pace);
    if (!whole) CheckInMemory(file.fd(), size - end, size, pace);
    if (pace.given_up()) return Unavailable("not in memory: " + path);
  }
  HR_TRY(const FileWitness witness, ReadWitness(file.fd(), whole, path));
  *bytes_read += whole ? witness.size : std::min(2 * FileWitness::kEndBytes, witness.size);
  return witness;
}

}  // namespace headrace::dataworker
