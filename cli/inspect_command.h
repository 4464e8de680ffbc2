#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/inspection.h"
#include "cli/launch.h"

namespace headrace::cli {

// `headrace explain` and `headrace verify`.
struct InspectCommand {
  LaunchOptions launch;
  Inspection inspection;
  std::vector<std::string> program;
};

// Adds a subcommand with the options that both have. The returned subcommand takes its own options.
CLI::App* AddInspectCommand(CLI::App& app, Action& chosen,
                            const std::shared_ptr<InspectCommand>& options, const char* help);

[[nodiscard]] std::shared_ptr<InspectCommand> MakeInspectCommand(const char* what,
                                                                 std::vector<std::string> program);

}  // namespace headrace::cli
