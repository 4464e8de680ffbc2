#pragma once

#include <string>

namespace CLI {
class App;
}

// `headrace completion SHELL`: what the shell completes after "headrace".
namespace headrace::cli {

// A script for "bash", "zsh" or "fish" that completes the subcommands and options of `app`, and elsewhere
// files. Empty: another shell.
[[nodiscard]] std::string CompletionScript(const CLI::App& app, const std::string& shell);

}  // namespace headrace::cli
