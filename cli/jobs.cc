#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/listing.h"
#include "cli/options.h"
#include "cli/query.h"
#include "cli/show.h"

namespace headrace::cli {
namespace {

struct Options {
  std::string coordinator;
  std::int64_t job = 0;
};

int ShowJob(const Options& options) {
  const Result<std::string> address = CoordinatorAddress(options.coordinator);
  if (!address.ok()) return Fail(address.status());
  const Result<wire::ClusterStatus> status =
      QueryStatus(*address, kQueryTimeout, JobId(options.job));
  if (!status.ok()) return Fail(status.status());
  const Result<std::string> page = JobPage(*status, JobId(options.job));
  if (!page.ok()) return Fail(page.status());
  std::fputs(page->c_str(), stdout);
  return 0;
}

std::string Page(const wire::ClusterStatus& now, const wire::ClusterStatus* before) {
  const std::string line = RoomLine(now);
  return JobsTable(now, before) + (line.empty() ? "" : "\n" + line);
}

}  // namespace

void AddJobs(CLI::App& app, Action& chosen) {
  CLI::App* jobs =
      AddListing(app, chosen,
                 {"jobs", "List the training programs that a coordinator serves", Page, JobsJson});
  auto options = std::make_shared<Options>();
  CLI::App* show = jobs->add_subcommand(
      "show",
      "One job: what it was granted, how fast it is, what it waits for and what would help");
  show->add_option("job", options->job, "Number of the job")->required()->type_name("JOB");
  AddCoordinatorAddress(*show, options->coordinator);
  show->footer("Example:\n  headrace jobs show 17 --coordinator tcp://head:7070");
  show->callback([&chosen, options] { chosen = [options] { return ShowJob(*options); }; });
}

}  // namespace headrace::cli
