#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/file_witness.h"
#include "dataworker/source/core/content_identity.h"
#include "schemas/wire/range_table.h"

// What sources of samples share that are ranges of shards. Pure.
namespace headrace::dataworker {

// After a shard's name.
inline constexpr const char* kChangedShard =
    " has changed since its samples were listed: open the data set again";

// The identity of a range of a shard: another one where the shard is another or has another version.
[[nodiscard]] ContentIdentity IdentityOfRange(const ContentIdentity& shard, FileRange range);

// Neighbours in one shard that are read together.
struct RangeRun {
  std::int64_t shard = 0;
  FileRange span;                    // of all of them, with the gaps
  std::vector<std::size_t> indexes;  // in the list that was asked for, by where they begin
};
// Gaps hold headers and labels of a tar: such a gap costs less than a request.
inline constexpr std::uint64_t kMostGap = std::uint64_t{16} << 10;
// A row that stays open keeps the memory of its run.
inline constexpr std::uint64_t kMostRun = std::uint64_t{1} << 20;

// Joins rows that lie at most kMostGap bytes from each other, to runs of at most kMostRun; a larger row
// is a run of its own. REQUIRES: the rows that `indexes` name are rows of the table.
[[nodiscard]] std::vector<RangeRun> JoinNeighbours(const wire::RangeTableView& table,
                                                   std::span<const std::int64_t> rows,
                                                   std::vector<std::size_t> indexes);

}  // namespace headrace::dataworker
