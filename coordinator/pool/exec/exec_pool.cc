#include <algorithm>
#include <memory>
#include <utility>

#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/core/process_pool.h"
#include "coordinator/pool/exec/exec_template.h"

namespace headrace {
namespace coordinator {
namespace {

std::vector<std::string> ExecArguments(std::vector<std::string> worker, std::int64_t cores,
                                       std::uint64_t cache_bytes, const std::string& handle) {
  worker.erase(worker.begin());  // the program: the user's command knows where it is
  for (const std::string& word :
       {std::string("--threads"), std::to_string(cores), std::string("--cache"),
        std::to_string(cache_bytes), std::string("--pool-member"), handle}) {
    worker.push_back(word);
  }
  return worker;
}

// Workers that a command of the user's starts, one command for each: in a container, by ssh on
// another host, or under a tool that sets limits. The command is a child process for as long as its
// worker runs.
Result<std::unique_ptr<Pool>> MakeExecPool(net::Reactor& reactor, PoolOptions options,
                                           PoolEvents events) {
  if (options.worker_command.empty()) {
    return InvalidArgument("the exec pool needs the command line of a worker");
  }
  const Settings& given = options.settings;
  HR_TRY(ExecTemplate command, ExecTemplate::Parse(given.Text("command")));
  HR_TRY(ExecTemplate stop, ExecTemplate::Parse(given.Text("stop")));
  if (!command.Has("args")) {
    return InvalidArgument(
        "--exec-command is the command that starts one worker, with {args} where the worker's "
        "arguments go, for example: podman run --rm --network=host IMAGE headrace {args}");
  }
  if (!stop.empty() && !stop.Has("member")) {
    return InvalidArgument("--exec-stop is the command that ends one worker, with {member} for it");
  }
  const std::string& at_stop = given.Text("at-stop");
  if (at_stop != "end" && at_stop != "keep") {
    return InvalidArgument("--exec-at-stop is end or keep, not " + at_stop);
  }
  const std::int64_t cores = std::max<std::int64_t>(given.Count("cores"), 1);
  const std::uint64_t cache_bytes = given.Bytes("cache");
  ProcessPoolRules rules;
  rules.name = "exec";
  rules.command = [command, cores, cache_bytes,
                   worker = options.worker_command](const std::string& handle) {
    return command.Fill({{"args", ExecArguments(worker, cores, cache_bytes, handle)},
                         {"program", {worker.front()}},
                         {"member", {handle}},
                         {"cores", {std::to_string(cores)}}});
  };
  if (!stop.empty()) {
    rules.stop_command = [stop](const std::string& handle) {
      return stop.Fill({{"member", {handle}}});
    };
  }
  rules.stop_grace = std::chrono::milliseconds(given.Count("stop-grace-ms"));
  rules.member_cores = static_cast<double>(cores);
  rules.elsewhere = true;
  rules.keep_at_stop = at_stop == "keep";
  return std::unique_ptr<Pool>(std::make_unique<ProcessPool>(reactor, std::move(options),
                                                             std::move(events), std::move(rules)));
}

std::vector<Setting> ExecSettings() {
  using enum Setting::Kind;
  return {
      {"command", kText, "",
       "starts one worker and runs as long as it does: {args} are the worker's arguments, "
       "{program} "
       "this headrace, {member} a name for it, {cores} its cores"},
      {"stop", kText, "", "ends the worker {member}; empty: SIGTERM to the command"},
      {"cores", kCount, "1", "cores of a worker"},
      {"cache", kBytes, "0", "memory cache of a worker"},
      {"stop-grace-ms", kCount, "10000", "how long workers may take to end"},
      {"at-stop", kText, "end", "what a coordinator that ends does with its workers: end or keep"},
  };
}

}  // namespace
}  // namespace coordinator

void RegisterPoolExec(coordinator::PoolRegistry& registry) {
  registry.Register({.name = "exec",
                     .summary = "workers that a command of yours starts, such as podman or ssh",
                     .settings = coordinator::ExecSettings(),
                     .make = coordinator::MakeExecPool});
}

}  // namespace headrace
