#include "cli/listing.h"
#include "cli/show.h"

namespace headrace::cli {
namespace {

std::string Page(const wire::ClusterStatus& now, const wire::ClusterStatus*) {
  const std::string lines = PoolLines(now);
  return PoolsTable(now) + std::to_string(now.desired_workers) +
         " workers are wanted, in all pools\n" + (lines.empty() ? "" : "\n" + lines);
}

}  // namespace

void AddPoolsCommand(CLI::App& app, Action& chosen) {
  AddListing(app, chosen,
             {"pools", "List the pools that workers come from, and what stands in their way", Page,
              PoolsJson});
}

}  // namespace headrace::cli
