#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/dataset_orders.h"
#include "cli/listing.h"
#include "cli/options.h"
#include "cli/query.h"
#include "cli/show.h"

namespace headrace::cli {
namespace {

std::string Caches(const wire::ClusterStatus& now, const wire::ClusterStatus* /*before*/) {
  return CacheTable(now);
}

std::string Datasets(const wire::ClusterStatus& now, const wire::ClusterStatus* /*before*/) {
  return DatasetsTable(now);
}

struct Options {
  std::string coordinator;
  std::string name;
  std::uint64_t bytes = 0;
  bool json = false;
};

int Order(wire::DatasetAction action, const Options& options) {
  const Result<std::string> address = CoordinatorAddress(options.coordinator);
  if (!address.ok()) return Fail(address.status());
  const Result<wire::DatasetOrdered> done = SendOrder(
      *address, {.action = action, .name = options.name, .bytes = options.bytes}, kQueryTimeout);
  if (!done.ok()) return Fail(done.status());
  std::uint32_t left = 0;
  if (action == wire::DatasetAction::kDrop) {
    const Result<std::uint32_t> waited = AwaitDrop(*address, done->dataset, kDropTimeout);
    if (!waited.ok()) return Fail(waited.status());
    left = *waited;
  }
  std::fputs((options.json ? OrderJson(*done, left) : OrderText(*done, left)).c_str(), stdout);
  return left == 0 ? 0 : 1;
}

void AddOrder(CLI::App& datasets, Action& chosen, const char* name, const char* help,
              wire::DatasetAction action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = datasets.add_subcommand(name, help);
  command->add_option("name", options->name, "Name of the data set, or its number (--json)")
      ->required()
      ->type_name("NAME");
  if (action == wire::DatasetAction::kPin) {
    AddSize(*command, "--size", options->bytes, "At most so much of it [default: all of it]");
  }
  AddCoordinatorAddress(*command, options->coordinator);
  command->add_flag("--json", options->json, "JSON instead of a line");
  command->footer("Example:\n  headrace datasets " + std::string(name) +
                  " 'ImageFolder(/data/train)' --coordinator tcp://head:7070");
  command->callback([&chosen, options, action] {
    chosen = [options, action] { return Order(action, *options); };
  });
}

}  // namespace

void AddCache(CLI::App& app, Action& chosen) {
  AddListing(app, chosen,
             {"cache", "List what is cached where: by worker and tier, and by worker and data set",
              Caches, CacheJson});
}

void AddDatasets(CLI::App& app, Action& chosen) {
  using Ordered = wire::DatasetAction;
  CLI::App* datasets = AddListing(
      app, chosen,
      {"datasets", "List the data sets that jobs read or have read, and how much of each is cached",
       Datasets, DatasetsJson});
  AddOrder(*datasets, chosen, "warm", "Fill its cache while the workers of its jobs are idle",
           Ordered::kWarm);
  AddOrder(*datasets, chosen, "pin",
           "Keep what is cached of it: other data sets and the end of its jobs do not take it",
           Ordered::kPin);
  AddOrder(*datasets, chosen, "unpin", "Undo a pin", Ordered::kUnpin);
  AddOrder(*datasets, chosen, "drop", "Empty its cache on all workers, at once", Ordered::kDrop);
}

}  // namespace headrace::cli
