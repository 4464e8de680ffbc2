#include "dataworker/source/files/file_reader.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "dataworker/source/ranges/ranges.h"
#include "dataworker/source/ranges/zip_member.h"
#include "schemas/wire/range_table.h"

namespace headrace::dataworker {
namespace {

ContentIdentity IdentityOf(const struct stat& st) {
  constexpr std::int64_t kNanos = 1'000'000'000;
  const auto nanos = [](const timespec& time) {
    return static_cast<std::uint64_t>(time.tv_sec * kNanos + time.tv_nsec);
  };
  ContentIdentity made{
      .place = {st.st_dev, st.st_ino},
      .version = {static_cast<std::uint64_t>(st.st_size), nanos(st.st_mtim), nanos(st.st_ctim)}};
  made.SetReach(NameReach::kHost);  // device numbers of Linux have 32 bits
  return made;
}

// What of a file in this state is the sample; without the file itself.
Result<FileReader::Opened> Locate(const struct stat& st, const FilePlace& place) {
  const std::string& path = place.path;
  if (S_ISDIR(st.st_mode)) return Unsupported("is a directory: " + path);
  if (!S_ISREG(st.st_mode)) return Unsupported("not a regular file: " + path);
  const auto whole = static_cast<std::uint64_t>(st.st_size);
  FileReader::Opened found;
  found.state = found.content = IdentityOf(st);
  if (place.range) {
    const auto mtime_ns = static_cast<std::int64_t>(found.state.version[1]);
    if (!place.version.empty() && place.version != wire::VersionOfFile(whole, mtime_ns)) {
      return Unavailable(path + kChangedShard);
    }
    if (place.range->first > whole || place.range->size > whole - place.range->first) {
      return Unavailable("ends before the sample does: " + path);
    }
    found.first = place.range->first;
    found.content = IdentityOfRange(found.state, *place.range, place.member);
  }
  const std::uint64_t size = place.range ? place.range->size : whole;
  if (size > Source::kMaxEncodedBytes) return Unsupported("larger than 1 GiB: " + path);
  found.size = size;
  return found;
}

}  // namespace

Status FileReader::Fill(Ask ask, const FilePlace& place, ScratchBuffer& buffer, Pace& pace,
                        RowAnswer& answer) const {
  switch (ask) {
    case Ask::kIdentity: {
      HR_TRY(answer.sample.content, Identify(place, pace));
      return {};
    }
    case Ask::kSpec: {
      HR_TRY(answer.spec, Describe(place, buffer, &answer.bytes_read, pace));
      return {};
    }
    case Ask::kBytes: {
      HR_TRY(const Opened opened, Open(place, pace));
      const MutableByteSpan out{
          reinterpret_cast<std::byte*>(buffer.Ensure(std::max(opened.size, std::size_t{1}))),
          opened.size};
      HR_RETURN_IF_ERROR(Read(opened, place.path, out, pace));
      answer.sample = {.bytes = out,
                       .encoded = true,
                       .row = {},
                       .content = opened.content,
                       .member = place.member};
      answer.bytes_read = opened.size;
      return {};
    }
    case Ask::kWitness:
    case Ask::kWholeWitness: {
      const bool whole = ask == Ask::kWholeWitness;
      HR_TRY(answer.witness, BearWitness(place, whole, &answer.bytes_read, pace));
      return {};
    }
  }
  return Internal("a question that files do not know");
}

Result<FileReader::Opened> FileReader::Open(const FilePlace& place, Pace& pace) const {
  HR_TRY(File file, opener_.Open(place.path, pace));
  struct stat st;
  if (::fstat(file.fd(), &st) != 0) return FileStatus(errno, place.path);
  HR_TRY(const Opened found, Locate(st, place));
  return Opened{std::move(file), found.first, found.size, found.state, found.content};
}

Status FileReader::Read(const Opened& opened, const std::string& path, MutableByteSpan out,
                        Pace& pace) {
  HR_TRY(const std::size_t got, ReadFrom(opened.file.fd(), opened.first, out, path, pace));
  // A writer may be at work: bytes of two versions must not get the identity of one.
  struct stat after;
  if (::fstat(opened.file.fd(), &after) != 0) return FileStatus(errno, path);
  if (got == opened.size && IdentityOf(after) == opened.state) return {};
  return Unavailable("changed while it was read: " + path);
}

Result<ContentIdentity> FileReader::Identify(const FilePlace& place, Pace& pace) const {
  struct stat st;
  HR_RETURN_IF_ERROR(opener_.Stat(place.path, st, pace));
  HR_TRY(const Opened found, Locate(st, place));
  return found.content;
}

Result<TensorSpec> FileReader::Describe(const FilePlace& place, ScratchBuffer& buffer,
                                        std::uint64_t* bytes_read, Pace& pace) const {
  const std::string& path = place.path;
  HR_TRY(const Opened opened, Open(place, pace));
  ByteSpan have;
  Status failed;
  const auto extend = [&](std::size_t wanted) -> ByteSpan {
    const std::size_t target = std::min(wanted, opened.size);
    if (target <= have.size() || !failed.ok()) return have;
    // Ensure may lose the content, so the read starts over; headers that long are rare.
    const MutableByteSpan out{reinterpret_cast<std::byte*>(buffer.Ensure(target)), target};
    Result<std::size_t> got = ReadFrom(opened.file.fd(), opened.first, out, path, pace);
    if (!got.ok()) {
      failed = got.status();
      have = {};
    } else {
      have = out.first(*got);
      *bytes_read += *got;
    }
    return have;
  };
  ScratchBuffer unpacked;
  ByteSpan sample;  // its first bytes
  const auto extend_sample = [&](std::size_t wanted) -> ByteSpan {
    if (!place.member) return extend(wanted);
    wanted = std::min<std::size_t>(wanted, place.member->size);
    // How many packed bytes it takes shows when they are there.
    for (std::size_t bytes = std::max(wanted, Source::kHeadBytes);; bytes *= 2) {
      extend(bytes);
      if (!failed.ok()) return sample;
      Result<ByteSpan> first = UnpackHead(have, *place.member, wanted, unpacked);
      if (!first.ok()) {
        failed = first.status().WithContext(path);
        return sample;
      }
      sample = *first;
      if (sample.size() >= wanted || bytes >= opened.size) return sample;
    }
  };
  const ByteSpan head = extend_sample(Source::kHeadBytes);
  HR_RETURN_IF_ERROR(failed);
  Result<TensorSpec> spec = read_header_(head, extend_sample);
  HR_RETURN_IF_ERROR(failed);
  if (!spec.ok()) return spec.status().WithContext(path);
  return spec;
}

Result<FileWitness> FileReader::BearWitness(const FilePlace& place, bool whole,
                                            std::uint64_t* bytes_read, Pace& pace) const {
  HR_TRY(const Opened opened, Open(place, pace));
  const int fd = opened.file.fd();
  const std::size_t begin = opened.first, size = opened.size;
  const std::size_t end = std::min<std::size_t>(FileWitness::kEndBytes, size);
  if (!pace.may_wait) {
    CheckInMemory(fd, begin, begin + (whole ? size : end), pace);
    if (!whole) CheckInMemory(fd, begin + size - end, begin + size, pace);
    if (pace.given_up()) return Unavailable("not in memory: " + place.path);
  }
  Result<FileWitness> read = place.range ? ReadWitness(fd, {begin, size}, whole, place.path)
                                         : ReadWitness(fd, whole, place.path);
  HR_TRY(const FileWitness witness, std::move(read));
  *bytes_read += whole ? witness.size : std::min(2 * FileWitness::kEndBytes, witness.size);
  return witness;
}

void FileReader::Expect(const std::string& path, FileRange range) const {
  Pace patient;
  const Result<File> file = opener_.Open(path, patient);
  if (!file.ok()) return;  // whoever reads it says why
  (void)::posix_fadvise(file->fd(), static_cast<off_t>(range.first), static_cast<off_t>(range.size),
                        POSIX_FADV_WILLNEED);
}

}  // namespace headrace::dataworker
