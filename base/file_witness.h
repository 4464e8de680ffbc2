#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace headrace {

// Shows whether two processes, perhaps on two hosts, see the same bytes under one name.
struct FileWitness {
  // Valid on one host: if all four are equal, it is the same file in the same state.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  // Valid on any host.
  std::uint64_t size = 0;   // bytes
  std::uint64_t ends = 0;   // hash of the first and the last kEndBytes
  std::uint64_t whole = 0;  // hash of all bytes; 0: not read
  friend bool operator==(const FileWitness&, const FileWitness&) = default;

  static constexpr std::uint64_t kEndBytes = 4096;
};

// Reads the witness of an open regular file: at most 2 * kEndBytes, or all bytes with `whole`. The
// descriptor's offset stays. `path` is for the message. kUnavailable: not readable, or changed
// while it was read. Thread-safe.
[[nodiscard]] Result<FileWitness> ReadWitness(int fd, bool whole, const std::string& path);
// Opens the file and reads its witness, without waiting for a FIFO. kUnsupported: not a regular
// file.
[[nodiscard]] Result<FileWitness> ReadWitness(const std::string& path, bool whole);

// Bytes [first, first + size) of a file that holds several samples.
struct FileRange {
  std::uint64_t first = 0;
  std::uint64_t size = 0;
  friend bool operator==(const FileRange&, const FileRange&) = default;
};
// The same of these bytes alone; device, inode and times are those of the file. kUnavailable, too: the
// file ends before.
[[nodiscard]] Result<FileWitness> ReadWitness(int fd, FileRange range, bool whole,
                                              const std::string& path);
[[nodiscard]] Result<FileWitness> ReadWitness(const std::string& path, FileRange range, bool whole);

// One witness of several files, in their order: it differs where one of theirs does. REQUIRES: there
// are some. One of a single file is its own.
[[nodiscard]] FileWitness JoinWitnesses(std::span<const FileWitness> files);

// Says in what `theirs` differs, for a message. Empty: no difference in what both know.
// `same_host`: device, inode and times may be compared; if they are equal, the files are the same.
[[nodiscard]] std::string Difference(const FileWitness& ours, const FileWitness& theirs,
                                     bool same_host);

}  // namespace headrace
