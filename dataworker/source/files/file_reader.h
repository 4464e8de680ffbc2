#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "dataworker/source/core/source.h"
#include "dataworker/source/files/sample_file.h"

namespace headrace::dataworker {

// Answers what may be asked of one file (Ask), with or without waiting for its device. Where a call
// may not wait and gives up (Pace), its result means nothing. Errors are those of RowAnswer and name
// the file. Thread-safe.
class FileReader {
 public:
  FileReader(std::vector<std::string> allowed_roots, HeaderReader read_header)
      : opener_(std::move(allowed_roots)), read_header_(std::move(read_header)) {}

  // An open regular file of at most Source::kMaxEncodedBytes, and its state then.
  struct Opened {
    File file;
    std::size_t size = 0;
    ContentIdentity content;
  };
  [[nodiscard]] Result<Opened> Open(const std::string& path, Pace& pace) const;
  // Reads all of an open file. kUnavailable: it changed since it was opened, so that the bytes may
  // be of two versions. REQUIRES: out.size() == opened.size.
  static Status Read(const Opened& opened, const std::string& path, MutableByteSpan out,
                     Pace& pace);

  [[nodiscard]] Result<ContentIdentity> Identify(const std::string& path, Pace& pace) const;
  // Adds what it read to *bytes_read, as BearWitness.
  [[nodiscard]] Result<TensorSpec> Describe(const std::string& path, ScratchBuffer& buffer,
                                            std::uint64_t* bytes_read, Pace& pace) const;
  [[nodiscard]] Result<FileWitness> BearWitness(const std::string& path, bool whole,
                                                std::uint64_t* bytes_read, Pace& pace) const;

 private:
  const Opener opener_;
  const HeaderReader read_header_;
};

}  // namespace headrace::dataworker
