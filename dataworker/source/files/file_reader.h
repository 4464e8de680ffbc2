#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/file_witness.h"
#include "base/result.h"
#include "dataworker/source/core/source.h"
#include "dataworker/source/files/sample_file.h"
#include "schemas/wire/range_table.h"

namespace headrace::dataworker {

// Where a sample's bytes are: a whole file, or a range of a shard.
struct FilePlace {
  std::string path;
  std::optional<FileRange> range = std::nullopt;  // empty: the whole file
  // Of a shard when its samples were listed (wire::VersionOfFile): in another state it is refused,
  // since the range may now hold another sample. Empty: any.
  std::string_view version = {};
  // The range holds a member of a zip.
  std::optional<wire::ZipMember> member = std::nullopt;
};

// Answers what may be asked of one place (Ask), with or without waiting for its device. Where a call
// may not wait and gives up (Pace), its result means nothing. Errors are those of RowAnswer and name
// the file. Thread-safe.
class FileReader {
 public:
  FileReader(std::vector<std::string> allowed_roots, HeaderReader read_header)
      : opener_(std::move(allowed_roots)), read_header_(std::move(read_header)) {}

  // Answers any question of a sample with one place.
  Status Fill(Ask ask, const FilePlace& place, ScratchBuffer& buffer, Pace& pace,
              RowAnswer& answer) const;

  // An open regular file, and what of it is a sample: at most Source::kMaxEncodedBytes.
  struct Opened {
    File file;
    std::uint64_t first = 0;  // where the sample begins
    std::size_t size = 0;     // of the sample
    ContentIdentity state;    // of the file then
    ContentIdentity content;  // of the sample
  };
  [[nodiscard]] Result<Opened> Open(const FilePlace& place, Pace& pace) const;
  // Reads all of an open sample. kUnavailable: its file changed since it was opened, so that the
  // bytes may be of two versions. REQUIRES: out.size() == opened.size.
  static Status Read(const Opened& opened, const std::string& path, MutableByteSpan out,
                     Pace& pace);

  [[nodiscard]] Result<ContentIdentity> Identify(const FilePlace& place, Pace& pace) const;
  // Adds what it read to *bytes_read, as BearWitness.
  [[nodiscard]] Result<TensorSpec> Describe(const FilePlace& place, ScratchBuffer& buffer,
                                            std::uint64_t* bytes_read, Pace& pace) const;
  [[nodiscard]] Result<FileWitness> BearWitness(const FilePlace& place, bool whole,
                                                std::uint64_t* bytes_read, Pace& pace) const;

  // Has the kernel read these bytes of a file ahead, if it can be opened. May wait.
  void Expect(const std::string& path, FileRange range) const;

 private:
  const Opener opener_;
  const HeaderReader read_header_;
};

}  // namespace headrace::dataworker
