#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/file_witness.h"
#include "dataworker/source/core/content_identity.h"
#include "dataworker/source/core/source.h"
#include "schemas/wire/range_table.h"

// What sources of samples share that are ranges of shards. Pure.
namespace headrace::dataworker {

// The range table of a leaf, with the memory that it views. kNotFound: there is none. kInvalidArgument:
// the leaf's argument "members" does not say whether its rows are members of zips. A worker that does
// not know of members refuses the argument, where it would take their packed bytes for the samples.
struct OpenedRanges {
  BlobContent bytes;
  wire::RangeTableView view;
};
[[nodiscard]] Result<OpenedRanges> OpenRanges(const SourceLeaf& leaf, const BlobLookup& blob);
// The leaf without that argument.
[[nodiscard]] SourceLeaf WithoutMembers(const SourceLeaf& leaf);

// After a shard's name.
inline constexpr const char* kChangedShard =
    " has changed since its samples were listed: open the data set again";

// The identity of a range of a shard: another one where the shard is another or has another version.
// A member of a zip is identified by what it is unpacked to, too: nobody can say of another sample, or
// of the packed bytes, that they are the same.
[[nodiscard]] ContentIdentity IdentityOfRange(
    const ContentIdentity& shard, FileRange range,
    const std::optional<wire::ZipMember>& member = std::nullopt);

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
