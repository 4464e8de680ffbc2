#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "headrace/plan_source.h"
#include "schemas/wire/range_table.h"

namespace headrace::client {

// The rows of one shard. Vectors are as long as there are rows; `members` may be empty.
struct ShardRows {
  std::string name, version;
  std::vector<std::uint64_t> firsts;
  std::vector<std::uint32_t> sizes;
  std::vector<std::int64_t> labels;
  std::vector<wire::ZipMember> members;
};

// Makes the leaf of rows that are ranges of shards. `source`: file_ranges or object_ranges. `root`: of the
// shards' names. kInvalidArgument: no row, lists of unequal length, or a table of 2 GiB or more.
Result<PlanSource> OfRanges(std::string source, std::string root,
                            const std::vector<ShardRows>& shards);

}  // namespace headrace::client
