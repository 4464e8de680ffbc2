#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "schemas/wire/range_table.h"
#include "trainer_client/shards/zip_records.h"

namespace headrace::client {

// Which members of a zip are samples.
struct ZipRules {
  std::vector<std::string> images;  // endings in lower case, without the point
  std::string folder;               // samples lie below it: empty, or with "/" at its end
  bool by_class = true;             // only in folders of `folder`, each of which is a class
};

// Vectors are as long as there are samples, in the order of an ImageFolder of the unpacked zip: by class,
// folder and file.
struct ZipSamples {
  std::string keys;  // names, one after the other
  std::vector<std::int64_t> key_ends;
  std::vector<std::uint64_t> firsts;  // of the local header, in the file
  std::vector<std::uint32_t> sizes;   // up to the end of the packed bytes, at least
  std::vector<wire::ZipMember> members;
};

// Lists a zip from its directory alone. It says which bytes it wants, and whoever has the file reads
// them. Takes about as much memory as the directory is long. Pure. One thread.
class ZipScan {
 public:
  // `size`: of the zip.
  ZipScan(std::uint64_t size, ZipRules rules);

  struct Want {
    std::uint64_t first = 0;
    std::uint64_t bytes = 0;  // at least; no more than the zip has
  };
  // nullopt: it is over.
  [[nodiscard]] std::optional<Want> wants() const {
    return done_ ? std::nullopt : std::optional(want_);
  }
  // Takes bytes from want.first on, and goes as far as they reach. kDataLoss: the zip is torn, damaged or
  // none. kUnsupported: a member that is encrypted, packed otherwise than deflated, or too large.
  // kInvalidArgument: a name that is no place below a folder, or fewer bytes than wanted. After an error
  // it is of no use.
  Status Take(ByteSpan bytes);
  // REQUIRES: !wants().
  [[nodiscard]] const ZipSamples& samples() const { return samples_; }

  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;  // of a sample

 private:
  Status TakeEnd(ByteSpan tail);
  Status TakeEntries(ByteSpan bytes);
  Status TakeEntry(const ZipHeader& header);
  [[nodiscard]] bool IsSample(std::string_view name) const;
  // Sorts the samples, and finds out where their packed bytes end.
  Status Finish();
  [[nodiscard]] std::string_view NameOf(std::size_t row) const;

  const std::uint64_t size_;
  const ZipRules rules_;
  Want want_;
  bool done_ = false, in_directory_ = false;
  ZipEnd end_;
  std::uint64_t at_ = 0;               // of the next entry
  std::vector<std::uint64_t> starts_;  // of the local headers of all entries
  ZipSamples samples_;
};

}  // namespace headrace::client
