#include "cli/listing.h"
#include "cli/show.h"

namespace headrace::cli {

void AddWorkers(CLI::App& app, Action& chosen) {
  AddListing(app, chosen,
             {"workers", "List the workers that a coordinator knows", WorkersTable, WorkersJson});
}

}  // namespace headrace::cli
