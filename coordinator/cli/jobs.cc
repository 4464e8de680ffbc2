#include "coordinator/cli/listing.h"
#include "coordinator/cli/show.h"

namespace headrace::cli {

void AddJobs(CLI::App& app, Action& chosen) {
  AddListing(app, chosen,
             {"jobs", "List the training programs that a coordinator serves", JobsTable, JobsJson});
}

}  // namespace headrace::cli
