#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/result.h"

namespace headrace::wire {

// What a zip's directory says of a member, for a row whose range begins with the member's local header.
struct ZipMember {
  std::uint32_t packed_size = 0;  // bytes in the zip
  std::uint32_t size = 0;         // bytes of the sample
  std::uint32_t crc = 0;          // CRC-32 of the sample
  friend bool operator==(const ZipMember&, const ZipMember&) = default;
};

// The range table blob: samples that are ranges of shards (files or objects with many samples), shard
// by shard. Texts lie one after the other; text i ends at ends[i].
struct RangeTable {
  std::string root;  // of the shards' names, as FileTable.root
  std::string_view shard_pool;
  std::span<const std::uint32_t> shard_ends;
  // The state of each shard when its samples were listed: VersionOfFile, or ObjectAnswer::version of
  // an object. Empty: not known.
  std::string_view version_pool;
  std::span<const std::uint32_t> version_ends;
  std::span<const std::uint64_t> row_ends;  // the rows of shard s end before row_ends[s]
  // One a row:
  std::span<const std::uint64_t> firsts;  // where its bytes begin in the shard
  std::span<const std::uint32_t> sizes;   // bytes
  std::span<const std::int64_t> labels;
  std::span<const ZipMember> members = {};  // empty: a range is the sample
};
// The version of a file in a range table: what all hosts with the same file system see of its state.
[[nodiscard]] std::string VersionOfFile(std::uint64_t size, std::int64_t mtime_ns);
// kInvalidArgument: says which parts do not fit each other, or that they are 2 GiB or more: these
// become several leaves of the plan.
[[nodiscard]] Result<Bytes> EncodeRangeTable(const RangeTable& table);

// A verified view that does not copy. The bytes must outlive it and begin at a multiple of 8.
class RangeTableView {
 public:
  // kInvalidArgument: damaged, or not aligned like that. O(size).
  static Result<RangeTableView> Open(ByteSpan bytes);
  [[nodiscard]] std::int64_t size() const;  // rows
  [[nodiscard]] std::int64_t shards() const;

  struct Range {
    std::int64_t shard = 0;
    std::uint64_t first = 0;
    std::uint32_t size = 0;  // first + size does not overflow
    friend bool operator==(const Range&, const Range&) = default;
  };
  // REQUIRES: 0 <= row < size(). O(log shards).
  [[nodiscard]] Range At(std::int64_t row) const;
  [[nodiscard]] std::int64_t Label(std::int64_t row) const;
  // Whether rows are members of zips.
  [[nodiscard]] bool has_members() const;
  // REQUIRES: 0 <= row < size(). nullopt: its range is the sample.
  [[nodiscard]] std::optional<ZipMember> Member(std::int64_t row) const;
  // REQUIRES: 0 <= shard < shards().
  [[nodiscard]] std::string Shard(std::int64_t shard) const;
  [[nodiscard]] std::string_view Version(std::int64_t shard) const;

 private:
  const void* table_ = nullptr;  // a verified flatbuffers root inside the bytes
};

}  // namespace headrace::wire
