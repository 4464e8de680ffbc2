#include "dataworker/source/ranges/ranges.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/pass/digest.h"

namespace headrace::dataworker {

namespace {

constexpr const char* kMembers = "members";

}  // namespace

Result<OpenedRanges> OpenRanges(const SourceLeaf& leaf, const BlobLookup& blob) {
  BlobContent bytes = blob(leaf.table);
  if (!bytes) return NotFound("the range table of the plan is missing");
  HR_TRY(wire::RangeTableView view, wire::RangeTableView::Open(*bytes));
  const auto said = leaf.args.find(kMembers);
  const bool has_members = said != leaf.args.end() && said->second == ArgValue(std::int64_t{1});
  if (has_members != view.has_members() || (said != leaf.args.end() && !has_members)) {
    return InvalidArgument("a range table whose leaf does not say what its ranges hold");
  }
  return OpenedRanges{std::move(bytes), std::move(view)};
}

SourceLeaf WithoutMembers(const SourceLeaf& leaf) {
  SourceLeaf plain = leaf;
  plain.args.erase(kMembers);
  return plain;
}

ContentIdentity IdentityOfRange(const ContentIdentity& shard, FileRange range,
                                const std::optional<wire::ZipMember>& member) {
  std::vector<std::uint64_t> words = {shard.place[0], shard.place[1], range.first, range.size};
  if (member) words.insert(words.end(), {member->packed_size, member->size, member->crc});
  const ByteSpan bytes = std::as_bytes(std::span(words));
  const Digest digest = DigestOf(std::span(&bytes, 1));
  ContentIdentity made;
  std::copy_n(digest.begin(), made.place.size(), made.place.begin());
  made.version = shard.version;
  made.SetReach(shard.reach());
  return made;
}

std::vector<RangeRun> JoinNeighbours(const wire::RangeTableView& table,
                                     std::span<const std::int64_t> rows,
                                     std::vector<std::size_t> indexes) {
  struct Row {
    wire::RangeTableView::Range range;
    std::size_t index;
  };
  std::vector<Row> sorted;
  sorted.reserve(indexes.size());
  for (const std::size_t index : indexes) sorted.push_back({table.At(rows[index]), index});
  std::ranges::stable_sort(sorted, {}, [](const Row& row) {
    return std::tuple(row.range.shard, row.range.first, row.range.size);
  });
  std::vector<RangeRun> runs;
  for (const auto& [range, index] : sorted) {
    const std::uint64_t end = range.first + range.size;
    if (!runs.empty() && runs.back().shard == range.shard) {
      RangeRun& run = runs.back();
      const std::uint64_t run_end = run.span.first + run.span.size;
      const std::uint64_t joined_end = std::max(run_end, end);
      if (range.first <= run_end + kMostGap && joined_end - run.span.first <= kMostRun) {
        run.span.size = joined_end - run.span.first;
        run.indexes.push_back(index);
        continue;
      }
    }
    runs.push_back({range.shard, {range.first, range.size}, {index}});
  }
  return runs;
}

}  // namespace headrace::dataworker
