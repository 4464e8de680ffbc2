#include "cli/listing.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/options.h"
#include "cli/query.h"

namespace headrace::cli {
namespace {

struct Options {
  std::string coordinator;
  bool json = false;
  bool all = false;
};

int Show(const Listing& listing, const Options& options) {
  const Result<std::string> address = CoordinatorAddress(options.coordinator);
  if (!address.ok()) return Fail(address.status());
  const Result<wire::ClusterStatus> status =
      QueryStatus(*address, kQueryTimeout, {.ended = options.all});
  if (!status.ok()) return Fail(status.status());
  const std::string text = options.json ? listing.json(*status) : listing.table(*status, nullptr);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace

CLI::App* AddListing(CLI::App& app, Action& chosen, const Listing& listing) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(listing.name, listing.help);
  AddCoordinatorAddress(*command, options->coordinator);
  command->add_flag("--json", options->json, "JSON instead of a table");
  if (listing.all_help != nullptr) command->add_flag("--all", options->all, listing.all_help);
  command->footer("Example:\n  headrace " + std::string(listing.name) +
                  " --coordinator tcp://head:7070 --json");
  command->callback([&chosen, listing, options, command] {
    // If a subcommand of it was chosen, that one stays.
    if (command->get_subcommands().empty()) {
      chosen = [listing, options] { return Show(listing, *options); };
    }
  });
  return command;
}

}  // namespace headrace::cli
