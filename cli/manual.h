#pragma once

#include <string>

namespace CLI {
class App;
}

// The manual, made of the commands' own help: `headrace manual` and docs/reference/command-line.md.
namespace headrace::cli {

// A page in roff for man(1).
[[nodiscard]] std::string ManPage(const CLI::App& app);
// The same as Markdown.
[[nodiscard]] std::string CommandsPage(const CLI::App& app);

}  // namespace headrace::cli
