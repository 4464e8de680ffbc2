#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/wire/range_table.h"

// For tests of sources of ranges.
namespace headrace::dataworker {

struct ShardRow {
  std::uint64_t first;
  std::uint32_t size;
  std::int64_t label;
  std::optional<wire::ZipMember> member = std::nullopt;  // all rows of a table have one, or none
};
struct TestShard {
  std::string name, version;
  std::vector<ShardRow> rows;
};

inline Bytes RangeTableOf(const std::string& root, const std::vector<TestShard>& shards) {
  std::string pool, versions;
  std::vector<std::uint32_t> ends, version_ends, sizes;
  std::vector<std::uint64_t> row_ends, firsts;
  std::vector<std::int64_t> labels;
  std::vector<wire::ZipMember> members;
  for (const TestShard& shard : shards) {
    pool += shard.name;
    versions += shard.version;
    ends.push_back(static_cast<std::uint32_t>(pool.size()));
    version_ends.push_back(static_cast<std::uint32_t>(versions.size()));
    for (const ShardRow& row : shard.rows) {
      firsts.push_back(row.first);
      sizes.push_back(row.size);
      labels.push_back(row.label);
      if (row.member) members.push_back(*row.member);
    }
    row_ends.push_back(firsts.size());
  }
  return *wire::EncodeRangeTable({.root = root,
                                  .shard_pool = pool,
                                  .shard_ends = ends,
                                  .version_pool = versions,
                                  .version_ends = version_ends,
                                  .row_ends = row_ends,
                                  .firsts = firsts,
                                  .sizes = sizes,
                                  .labels = labels,
                                  .members = members});
}

}  // namespace headrace::dataworker
