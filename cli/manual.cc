#include "cli/manual.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <sstream>
#include <vector>

#include "base/version.h"
#include "cli/commands.h"
#include "cli/config_file.h"
#include "cli/variables.h"

namespace headrace::cli {
namespace {

struct Command {
  std::string name;  // "headrace jobs show"
  const CLI::App* app = nullptr;
};

void Collect(const CLI::App& app, const std::string& name, std::vector<Command>& all) {
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string own = name + " " + sub->get_name();  // not of the list, which grows
    all.push_back({own, sub});
    Collect(*sub, own, all);
  }
}

std::vector<Command> CommandsOf(const CLI::App& app) {
  std::vector<Command> all;
  Collect(app, "headrace", all);
  return all;
}

// "--cache SIZE", or the name of an argument.
std::string NameOf(const CLI::Option& option) {
  if (option.get_positional()) return option.get_type_name();
  std::string text;
  for (const std::string& name : option.get_lnames()) {
    text += (text.empty() ? "--" : ", --") + name;
  }
  if (option.get_items_expected_min() > 0) text += " " + option.get_type_name();
  return text;
}

std::vector<const CLI::Option*> OptionsOf(const CLI::App& app) {
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->check_lname("help") && !option->check_lname("version")) options.push_back(option);
  }
  return options;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

// Text of roff: a line must not begin as a request does.
std::string Roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
      out += std::string("\\&") + c;
    } else if (c != '`') {
      out += c;
    }
  }
  return out;
}

std::string Escaped(std::string text) {  // for a cell of a table
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

}  // namespace

std::string ManPage(const CLI::App& app) {
  std::string text = ".TH HEADRACE 1 \"\" \"headrace " + std::string(kVersion) + "\"\n.SH NAME\n" +
                     "headrace \\- data preprocessing for training, in worker processes\n" +
                     ".SH SYNOPSIS\n.B headrace\n.I SUBCOMMAND\n[options]\n.SH DESCRIPTION\n" +
                     Roff(app.get_description()) + "\n.SH EXAMPLES\n.nf\n";
  for (const std::string& line : LinesOf(app.get_footer())) {
    if (line.starts_with("  ")) text += Roff(line) + "\n";
  }
  text += ".fi\n.SH SUBCOMMANDS\n";
  for (const Command& command : CommandsOf(app)) {
    text += ".SS " + Roff(command.name) + "\n" + Roff(command.app->get_description()) + ".\n";
    for (const CLI::Option* option : OptionsOf(*command.app)) {
      text += ".TP\n.B " + Roff(NameOf(*option)) + "\n" + Roff(option->get_description()) + "\n";
    }
    if (!command.app->get_footer().empty()) {
      text += ".PP\n.nf\n" + Roff(command.app->get_footer()) + "\n.fi\n";
    }
  }
  text += ".SH ENVIRONMENT\n";
  for (const Variable& variable : kVariables) {
    text += ".TP\n.BI " + std::string(variable.name) +
            " \" = " + Roff(std::string(variable.value)) + "\"\n" +
            Roff(std::string(variable.meaning)) + ".\n";
  }
  return text + ".SH FILES\n" + Roff(std::string(kConfigHelp)) + "\n";
}

std::string CommandsPage(const CLI::App& app) {
  std::string text =
      "# Command line\n\nGenerated from the program's own help; `headrace manual` prints it as a "
      "page for "
      "`man`.\n\n" +
      app.get_description() + "\n";
  for (const Command& command : CommandsOf(app)) {
    text += "\n## " + command.name + "\n\n" + command.app->get_description() + ".\n";
    const std::vector<const CLI::Option*> options = OptionsOf(*command.app);
    if (!options.empty()) text += "\n| option | is |\n|---|---|\n";
    for (const CLI::Option* option : options) {
      text += "| `" + Escaped(NameOf(*option)) + "`" +
              (option->get_required() ? ", required" : "") + " | " +
              Escaped(option->get_description()) + " |\n";
    }
    if (!command.app->get_footer().empty()) {
      text += "\n```\n" + command.app->get_footer() + "\n```\n";
    }
  }
  text += "\n## Environment variables\n\n| variable | value | is |\n|---|---|---|\n";
  for (const Variable& variable : kVariables) {
    text += "| `" + std::string(variable.name) + "` | `" + std::string(variable.value) + "` | " +
            Escaped(std::string(variable.meaning)) + " |\n";
  }
  return text + "\n## The file of settings\n\n" + std::string(kConfigHelp) + "\n";
}

void AddManual(CLI::App& app, Action& chosen) {
  auto markdown = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("manual", "All commands, options and variables, as a page for man");
  command->add_flag("--markdown", *markdown, "Markdown in place of a page for man");
  command->footer("Example:\n  headrace manual > ~/.local/share/man/man1/headrace.1");
  command->callback([&app, &chosen, markdown] {
    chosen = [&app, markdown] {
      std::fputs((*markdown ? CommandsPage(app) : ManPage(app)).c_str(), stdout);
      return 0;
    };
  });
}

}  // namespace headrace::cli
