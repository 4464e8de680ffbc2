#include "base/file_witness.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/buffer.h"
#include "base/hash.h"

namespace headrace {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;  // bytes read at a time

FileWitness StateOf(const struct stat& st) {
  constexpr std::int64_t kNanos = 1'000'000'000;
  FileWitness witness;
  witness.device = st.st_dev;
  witness.inode = st.st_ino;
  witness.mtime_ns = st.st_mtim.tv_sec * kNanos + st.st_mtim.tv_nsec;
  witness.ctime_ns = st.st_ctim.tv_sec * kNanos + st.st_ctim.tv_nsec;
  witness.size = static_cast<std::uint64_t>(st.st_size);
  return witness;
}

// Adds the bytes [from, to) to `hash`.
Status AddRange(int fd, std::uint64_t from, std::uint64_t to, const std::string& path,
                std::vector<std::byte>& buffer, std::uint64_t& hash) {
  while (from < to) {
    buffer.resize(static_cast<std::size_t>(std::min(kPiece, to - from)));
    const ssize_t n = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(from));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read " + path);
    // Pieces of another length would give another hash.
    if (static_cast<std::size_t>(n) != buffer.size()) {
      return Unavailable("changed while it was read: " + path);
    }
    hash = HashBytes(buffer, hash);
    from += static_cast<std::uint64_t>(n);
  }
  return {};
}

}  // namespace

Result<FileWitness> ReadWitness(int fd, bool whole, const std::string& path) {
  struct stat st;
  if (::fstat(fd, &st) != 0) return ErrnoStatus(errno, path);
  return ReadWitness(fd, {0, static_cast<std::uint64_t>(st.st_size)}, whole, path);
}

Result<FileWitness> ReadWitness(int fd, FileRange range, bool whole, const std::string& path) {
  struct stat before, after;
  if (::fstat(fd, &before) != 0) return ErrnoStatus(errno, path);
  if (!S_ISREG(before.st_mode)) return Unsupported("not a regular file: " + path);
  const FileWitness state = StateOf(before);
  if (range.first > state.size || range.size > state.size - range.first) {
    return Unavailable("ends before the sample does: " + path);
  }
  FileWitness witness = state;
  witness.size = range.size;
  const std::uint64_t end = range.first + range.size;
  const std::uint64_t tail = std::min(FileWitness::kEndBytes, range.size);
  std::vector<std::byte> buffer;
  witness.ends = range.size;
  HR_RETURN_IF_ERROR(AddRange(fd, range.first, range.first + tail, path, buffer, witness.ends));
  HR_RETURN_IF_ERROR(AddRange(fd, end - tail, end, path, buffer, witness.ends));
  if (whole) {
    HR_RETURN_IF_ERROR(AddRange(fd, range.first, end, path, buffer, witness.whole));
    witness.whole = std::max<std::uint64_t>(witness.whole, 1);
  }
  if (::fstat(fd, &after) != 0) return ErrnoStatus(errno, path);
  if (!(StateOf(after) == state)) return Unavailable("changed while it was read: " + path);
  return witness;
}

namespace {

// Opens without waiting for a FIFO.
template <typename Read>
Result<FileWitness> WithFile(const std::string& path, const Read& read) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return ErrnoStatus(errno, path);
  Result<FileWitness> witness = read(fd);
  ::close(fd);
  return witness;
}

}  // namespace

Result<FileWitness> ReadWitness(const std::string& path, bool whole) {
  return WithFile(path, [&](int fd) { return ReadWitness(fd, whole, path); });
}

Result<FileWitness> ReadWitness(const std::string& path, FileRange range, bool whole) {
  return WithFile(path, [&](int fd) { return ReadWitness(fd, range, whole, path); });
}

FileWitness JoinWitnesses(std::span<const FileWitness> files) {
  if (files.size() == 1) return files.front();
  FileWitness all;
  bool read_whole = true;
  const auto add = [](auto& sum, auto word) {
    sum = static_cast<std::remove_reference_t<decltype(sum)>>(
        HashBytes(std::as_bytes(std::span(&word, 1)), static_cast<std::uint64_t>(sum)));
  };
  for (const FileWitness& file : files) {
    add(all.device, file.device);
    add(all.inode, file.inode);
    add(all.mtime_ns, file.mtime_ns);
    add(all.ctime_ns, file.ctime_ns);
    all.size += file.size;
    add(all.ends, file.size);
    add(all.ends, file.ends);
    add(all.whole, file.whole);
    read_whole = read_whole && file.whole != 0;
  }
  all.whole = read_whole ? std::max<std::uint64_t>(all.whole, 1) : 0;
  return all;
}

std::string Difference(const FileWitness& ours, const FileWitness& theirs, bool same_host) {
  if (same_host && ours.device == theirs.device && ours.inode == theirs.inode &&
      ours.mtime_ns == theirs.mtime_ns && ours.ctime_ns == theirs.ctime_ns &&
      ours.size == theirs.size) {
    return {};
  }
  if (ours.size != theirs.size) {
    return "it has " + std::to_string(theirs.size) + " bytes there and " +
           std::to_string(ours.size) + " here";
  }
  if (ours.ends != theirs.ends) {
    return "its first or last " + std::to_string(FileWitness::kEndBytes) +
           " bytes are others there than here";
  }
  if (ours.whole != 0 && theirs.whole != 0 && ours.whole != theirs.whole) {
    return "its bytes are others there than here";
  }
  return {};
}

}  // namespace headrace
