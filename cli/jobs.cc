#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/admin.h"
#include "cli/listing.h"
#include "cli/options.h"
#include "cli/query.h"
#include "cli/show.h"
#include "cli/text.h"

namespace headrace::cli {
namespace {

using Ordered = wire::ClusterAction;

struct Options {
  std::string coordinator;
  std::int64_t job = 0;
  bool json = false;
  std::int32_t priority = 0;
};

int ShowJob(const Options& options) {
  const Result<std::string> address = CoordinatorAddress(options.coordinator);
  if (!address.ok()) return Fail(address.status());
  const JobId job(options.job);
  const Result<wire::ClusterStatus> status =
      QueryStatus(*address, kQueryTimeout, {.whole = job, .ended = true});
  if (!status.ok()) return Fail(status.status());
  const Result<std::string> page = options.json ? JobJson(*status, job) : JobPage(*status, job);
  if (!page.ok()) return Fail(page.status());
  std::fputs(page->c_str(), stdout);
  return 0;
}

int OrderJob(Ordered action, const Options& options) {
  const Result<std::string> address = CoordinatorAddress(options.coordinator);
  if (!address.ok()) return Fail(address.status());
  const Result<wire::ClusterOrdered> done = SendOrder(
      *address, {.action = action, .job = JobId(options.job), .priority = options.priority},
      kQueryTimeout);
  if (!done.ok()) return Fail(done.status());
  std::fputs((Plain(done->text) + "\n").c_str(), stdout);
  return 0;
}

std::string Page(const wire::ClusterStatus& now, const wire::ClusterStatus* before) {
  const std::string line = RoomLine(now);
  return JobsTable(now, before) + (now.ended.empty() ? "" : "\n" + EndedTable(now)) +
         (line.empty() ? "" : "\n" + line);
}

CLI::App* AddForJob(CLI::App& jobs, Options& options, const char* name, const char* help) {
  CLI::App* command = jobs.add_subcommand(name, help);
  command->add_option("job", options.job, "Number of the job")->required()->type_name("JOB");
  return command;
}

void AddOrder(CLI::App& jobs, Action& chosen, const char* name, const char* help, Ordered action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = AddForJob(jobs, *options, name, help);
  const bool priority = action == Ordered::kSetPriority;
  if (priority) {
    command
        ->add_option("priority", options->priority,
                     "A higher one is served first; programs begin with 0")
        ->required()
        ->type_name("N");
  }
  AddCoordinatorAddress(*command, options->coordinator);
  command->footer("Example:\n  headrace jobs " + std::string(name) + " 17" +
                  (priority ? " 5" : "") + " --coordinator tcp://head:7070");
  command->callback([&chosen, options, action] {
    chosen = [options, action] { return OrderJob(action, *options); };
  });
}

}  // namespace

void AddJobs(CLI::App& app, Action& chosen) {
  CLI::App* jobs = AddListing(app, chosen,
                              {"jobs", "List the training programs that a coordinator serves", Page,
                               JobsJson, "Also the last 1000 that have ended"});
  auto options = std::make_shared<Options>();
  CLI::App* show = AddForJob(
      *jobs, *options, "show",
      "One job: what it was granted, how fast it is, what it waits for and what would help");
  AddCoordinatorAddress(*show, options->coordinator);
  show->add_flag("--json", options->json, "JSON instead of lines");
  show->footer("Example:\n  headrace jobs show 17 --coordinator tcp://head:7070");
  show->callback([&chosen, options] { chosen = [options] { return ShowJob(*options); }; });
  AddOrder(*jobs, chosen, "cancel",
           "Take its workers from a job and give it none; its program goes on without",
           Ordered::kCancel);
  AddOrder(*jobs, chosen, "resume", "Undo a cancel", Ordered::kResume);
  AddOrder(*jobs, chosen, "priority", "Serve a job, with all its ranks, before or after others",
           Ordered::kSetPriority);
}

}  // namespace headrace::cli
