#include "trainer_client/plans/range_leaf.h"

#include <utility>

#include "trainer_client/plans/plan_blobs.h"

namespace headrace::client {
namespace {

struct PackedTexts {
  std::string pool;
  std::vector<std::uint32_t> ends;
  void Add(const std::string& text) {
    pool += text;
    ends.push_back(static_cast<std::uint32_t>(pool.size()));
  }
};

template <typename T>
void Append(const std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

Result<PlanSource> OfRanges(std::string source, std::string root,
                            const std::vector<ShardRows>& shards) {
  PackedTexts names, versions;
  ShardRows all;
  std::vector<std::uint64_t> row_ends;
  for (const ShardRows& shard : shards) {
    if (shard.sizes.size() != shard.firsts.size() || shard.labels.size() != shard.firsts.size()) {
      return InvalidArgument(shard.name + ": as many firsts, sizes and labels are needed");
    }
    names.Add(shard.name);
    versions.Add(shard.version);
    Append(shard.firsts, all.firsts);
    Append(shard.sizes, all.sizes);
    Append(shard.labels, all.labels);
    Append(shard.members, all.members);
    row_ends.push_back(all.firsts.size());
  }
  if (all.firsts.empty()) return InvalidArgument("a source of no samples");
  HR_TRY(Bytes table, wire::EncodeRangeTable({.root = root,
                                              .shard_pool = names.pool,
                                              .shard_ends = names.ends,
                                              .version_pool = versions.pool,
                                              .version_ends = versions.ends,
                                              .row_ends = row_ends,
                                              .firsts = all.firsts,
                                              .sizes = all.sizes,
                                              .labels = all.labels,
                                              .members = all.members}));
  PlanSource made;
  SourceLeaf& leaf = made.leaves.emplace_back();
  leaf.source = std::move(source);
  leaf.rows = static_cast<std::int64_t>(all.firsts.size());
  // A worker that knows no members refuses them, in place of taking what is packed for the picture.
  if (!all.members.empty()) leaf.args["members"] = std::int64_t{1};
  leaf.table = AddBlob(std::move(table), made.blobs);
  return made;
}

}  // namespace headrace::client
