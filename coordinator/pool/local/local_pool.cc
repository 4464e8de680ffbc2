#include <memory>
#include <utility>

#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/core/process_pool.h"

namespace headrace {
namespace coordinator {
namespace {

constexpr char kLocalStopGrace[] = "stop-grace-ms";

// Worker processes on the coordinator's own host. All end with the pool. If there is no time to end
// them, they end with the parent process that their command line names.
Result<std::unique_ptr<Pool>> MakeLocalPool(net::Reactor& reactor, PoolOptions options,
                                            PoolEvents events) {
  if (options.worker_command.empty()) {
    return InvalidArgument("the local pool needs the command line of a worker");
  }
  ProcessPoolRules rules;
  rules.name = "local";
  rules.command = [command = options.worker_command](const std::string& handle) {
    std::vector<std::string> words = command;
    words.emplace_back("--pool-member");
    words.push_back(handle);
    return words;
  };
  rules.stop_grace = std::chrono::milliseconds(options.settings.Count(kLocalStopGrace));
  return std::unique_ptr<Pool>(std::make_unique<ProcessPool>(reactor, std::move(options),
                                                             std::move(events), std::move(rules)));
}

}  // namespace
}  // namespace coordinator

void RegisterPoolLocal(coordinator::PoolRegistry& registry) {
  registry.Register({.name = "local",
                     .summary = "worker processes on the coordinator's host",
                     .settings = {{.name = coordinator::kLocalStopGrace,
                                   .kind = Setting::Kind::kCount,
                                   .value = "2000",
                                   .help = "how long workers may take to end"}},
                     .on_this_host = true,
                     .make = coordinator::MakeLocalPool});
}

}  // namespace headrace
