#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cli/admin.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/query.h"
#include "cli/show.h"
#include "cli/text.h"

namespace headrace::cli {
namespace {

constexpr std::chrono::milliseconds kLookAgain{200};

struct Options {
  std::string coordinator;
  std::vector<std::int64_t> workers;
  std::string host;
  int wait_s = 0;
};

Result<std::vector<WorkerId>> WorkersOf(const std::string& address, const Options& options) {
  std::vector<WorkerId> workers;
  for (const std::int64_t number : options.workers) workers.emplace_back(number);
  if (options.host.empty()) return workers;
  HR_TRY(const wire::ClusterStatus now, QueryStatus(address));
  for (const wire::WorkerStatus& worker : now.workers) {
    if (worker.info.host.hostname == options.host && worker.state != "lost") {
      workers.push_back(worker.info.worker);
    }
  }
  if (workers.empty()) {
    return NotFound("no worker on " + options.host + "; `headrace workers` lists them");
  }
  return workers;
}

// Waits until none of them is there any more. Their number, after `seconds`.
Result<std::size_t> AwaitEnds(const std::string& address, const std::vector<WorkerId>& workers,
                              int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (true) {
    HR_TRY(const wire::ClusterStatus now, QueryStatus(address));
    const auto left = std::ranges::count_if(now.workers, [&](const wire::WorkerStatus& each) {
      return each.state != "lost" && std::ranges::find(workers, each.info.worker) != workers.end();
    });
    if (left == 0 || std::chrono::steady_clock::now() >= end) return static_cast<std::size_t>(left);
    std::this_thread::sleep_for(kLookAgain);
  }
}

int Drain(const Options& options) {
  const Result<std::string> address = CoordinatorAddress(options.coordinator);
  if (!address.ok()) return Fail(address.status());
  const Result<std::vector<WorkerId>> workers = WorkersOf(*address, options);
  if (!workers.ok()) return Fail(workers.status());
  const Result<wire::ClusterOrdered> done = SendOrder(
      *address, {.action = wire::ClusterAction::kDrain, .workers = *workers}, kQueryTimeout);
  if (!done.ok()) return Fail(done.status());
  std::fputs((Plain(done->text) + "\n").c_str(), stdout);
  std::fflush(stdout);
  if (options.wait_s == 0) return 0;
  const Result<std::size_t> left = AwaitEnds(*address, *workers, options.wait_s);
  if (!left.ok()) return Fail(left.status());
  if (*left > 0) {
    return Fail(Unavailable(std::to_string(*left) + " of them are still there after " +
                            std::to_string(options.wait_s) + " s"));
  }
  std::fputs("they have left\n", stdout);
  return 0;
}

}  // namespace

void AddDrain(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "drain",
      "Have workers finish what was asked of them, and leave: before a host's maintenance");
  CLI::Option* workers = command
                             ->add_option("workers", options->workers,
                                          "Numbers of workers, as `headrace workers` lists them")
                             ->type_name("WORKER");
  command->add_option("--host", options->host, "All workers of this host")
      ->type_name("NAME")
      ->excludes(workers);
  command->add_option("--wait", options->wait_s, "Wait so long for their end [default: 0]")
      ->check(CLI::Range(0, 86400))
      ->type_name("SECONDS");
  AddCoordinatorAddress(*command, options->coordinator);
  command->footer(
      "Example:\n  headrace drain --host node7 --wait 600 --coordinator tcp://head:7070");
  command->callback([&chosen, options] { chosen = [options] { return Drain(*options); }; });
}

}  // namespace headrace::cli
