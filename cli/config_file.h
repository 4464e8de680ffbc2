#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

// The file of settings (TOML), for what one would write on each command line.
namespace headrace::cli {

inline constexpr std::string_view kConfigHelp =
    "A file of settings (TOML) has what one would write on each command line. It is "
    "$HEADRACE_CONFIG, else "
    "headrace.toml in $XDG_CONFIG_HOME (~/.config), else /etc/headrace.toml; the first one that is "
    "there. A "
    "section is named after a command, and its keys after that command's options. coordinator and "
    "keys, above all "
    "sections, hold for all commands. What the command line says comes first, then the "
    "environment, then the file.";

// A variable of the environment; empty: it is not set.
using EnvironmentOf = std::function<std::string(const std::string& name)>;

// The path of the file; empty: there is none. `exists`: of a path.
[[nodiscard]] std::string ConfigPath(const EnvironmentOf& environment,
                                     const std::function<bool(const std::string&)>& exists);

struct Configured {
  std::vector<std::string> words;  // of the command line, with those of the file
  std::string coordinator, keys;   // of all commands; empty: not said, or the environment says it
};
// Adds what the file's `text` says of the command in `words`, after the names of its subcommands: what the user
// wrote follows it and stays. Pure. kInvalidArgument: no TOML; a section or key that is none; a value of another
// form. The message names the section and the key.
[[nodiscard]] Result<Configured> WithConfig(const CLI::App& app, std::vector<std::string> words,
                                            const std::string& text,
                                            const EnvironmentOf& environment);

}  // namespace headrace::cli
