#include "cli/listing.h"
#include "cli/show.h"

namespace headrace::cli {
namespace {

std::string Caches(const wire::ClusterStatus& now, const wire::ClusterStatus* /*before*/) {
  return CacheTable(now);
}

std::string Datasets(const wire::ClusterStatus& now, const wire::ClusterStatus* /*before*/) {
  return DatasetsTable(now);
}

}  // namespace

void AddCache(CLI::App& app, Action& chosen) {
  AddListing(app, chosen,
             {"cache", "List what is cached where: by worker and tier, and by worker and data set",
              Caches, CacheJson});
}

void AddDatasets(CLI::App& app, Action& chosen) {
  AddListing(app, chosen,
             {"datasets", "List the data sets that jobs read, and how much of each is cached",
              Datasets, DatasetsJson});
}

}  // namespace headrace::cli
