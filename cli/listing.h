#pragma once

#include <string>

#include "cli/commands.h"
#include "schemas/wire/control.h"

namespace headrace::cli {

// A subcommand that asks a coordinator once and prints one part of the answer.
struct Listing {
  const char* name;
  const char* help;
  std::string (*table)(const wire::ClusterStatus& now, const wire::ClusterStatus* before);
  std::string (*json)(const wire::ClusterStatus& now);
  const char* all_help =
      nullptr;  // of --all, which asks for what has ended, too; nullptr: there is none
};

CLI::App* AddListing(CLI::App& app, Action& chosen, const Listing& listing);

}  // namespace headrace::cli
