#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "coordinator/cli/commands.h"
#include "coordinator/cli/query.h"
#include "coordinator/cli/show.h"

namespace headrace::cli {
namespace {

struct Options {
  std::string coordinator;
  bool json = false;
};

int ShowJobs(const Options& options) {
  const Result<std::string> address = CoordinatorAddress(options.coordinator);
  if (!address.ok()) return Fail(address.status());
  const Result<wire::ClusterStatus> status = QueryStatus(*address);
  if (!status.ok()) return Fail(status.status());
  std::fputs((options.json ? JobsJson(*status) : JobsTable(*status)).c_str(), stdout);
  return 0;
}

}  // namespace

void AddJobs(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("jobs", "List the training programs that a coordinator serves");
  command
      ->add_option("--coordinator", options->coordinator,
                   "Its address [default: $HEADRACE_COORDINATOR]")
      ->type_name("ADDRESS");
  command->add_flag("--json", options->json, "JSON instead of a table");
  command->footer("Example:\n  headrace jobs --coordinator tcp://head:7070 --json");
  command->callback([&chosen, options] { chosen = [options] { return ShowJobs(*options); }; });
}

}  // namespace headrace::cli
