#include "cli/listing.h"
#include "cli/show.h"

namespace headrace::cli {
namespace {

std::string Page(const wire::ClusterStatus& now, const wire::ClusterStatus* before) {
  const std::string lines = UnfitLines(now) + SlowLines(now);
  return WorkersTable(now, before) + (lines.empty() ? "" : "\n" + lines);
}

}  // namespace

void AddWorkers(CLI::App& app, Action& chosen) {
  AddListing(app, chosen,
             {"workers", "List the workers that a coordinator knows", Page, WorkersJson});
}

}  // namespace headrace::cli
