#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace headrace {

// What tells whether two processes, on two hosts perhaps, see the same bytes under one name.
struct FileWitness {
  // On one host: two equal ones mean the same file in the same state.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  // Anywhere.
  std::uint64_t size = 0;   // bytes
  std::uint64_t ends = 0;   // of the first and the last kEndBytes
  std::uint64_t whole = 0;  // of all bytes; 0: not read
  friend bool operator==(const FileWitness&, const FileWitness&) = default;

  static constexpr std::uint64_t kEndBytes = 4096;
};

// Reads it from an open regular file: at most 2 * kEndBytes, or all with `whole`. Thread-safe. The
// descriptor's offset stays. kUnavailable: not readable, or changed while it was read; `path` is
// for the message.
[[nodiscard]] Result<FileWitness> ReadWitness(int fd, bool whole, const std::string& path);
// Opens the file for it, without waiting for a FIFO. kUnsupported: not a regular file.
[[nodiscard]] Result<FileWitness> ReadWitness(const std::string& path, bool whole);

// What `theirs` shows to be different, for a message; empty: nothing, by all that both tell.
// `same_host`: device, inode and times may be compared, which settle it where they are equal.
[[nodiscard]] std::string Difference(const FileWitness& ours, const FileWitness& theirs,
                                     bool same_host);

}  // namespace headrace
