#include "cli/completion.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "cli/commands.h"

namespace headrace::cli {
namespace {

// A word of the command line and what it says, in one line.
struct Word {
  std::string name, help;
};
struct Command {
  std::vector<std::string> path;  // of subcommands, from the top
  std::vector<Word> words;        // subcommands and options
};

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

void Collect(const CLI::App& app, std::vector<std::string> path, std::vector<Command>& all) {
  Command command{path, {}};
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    command.words.push_back({sub->get_name(), FirstLine(sub->get_description())});
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      command.words.push_back({"--" + name, FirstLine(option->get_description())});
    }
  }
  all.push_back(std::move(command));
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    std::vector<std::string> below = path;
    below.push_back(sub->get_name());
    Collect(*sub, std::move(below), all);
  }
}

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : " ") + part;
  return text;
}

// For a string in single quotes.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string Bash(const std::vector<Command>& commands) {
  std::string text =
      "# bash completion of headrace\n"
      "_headrace() {\n"
      "  local word path='' words\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \"${path:+$path }$word\" in\n      ";
  std::string known;
  for (const Command& command : commands) {
    if (!command.path.empty()) known += (known.empty() ? "" : " | ") + Quoted(Join(command.path));
  }
  text += known + ") path=\"${path:+$path }$word\" ;;\n    esac\n  done\n  case \"$path\" in\n";
  for (const Command& command : commands) {
    std::string words;
    for (const Word& word : command.words) words += (words.empty() ? "" : " ") + word.name;
    text += "    " + Quoted(Join(command.path)) + ") words=" + Quoted(words) + " ;;\n";
  }
  return text +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
         "}\n"
         "complete -o default -o bashdefault -F _headrace headrace\n";
}

std::string Fish(const std::vector<Command>& commands) {
  std::string text =
      "# fish completion of headrace\n"
      "function __headrace_at\n"
      "  set -l path\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    contains -- \"$path $word\" ";
  for (const Command& command : commands) {
    if (!command.path.empty()) text += Quoted(" " + Join(command.path)) + " ";
  }
  text += "; and set path \"$path $word\"\n  end\n  test \"$path\" = \"$argv[1]\"\nend\n";
  for (const Command& command : commands) {
    const std::string at = command.path.empty() ? "" : " " + Join(command.path);
    const std::string here =
        "complete -c headrace -n " + Quoted("__headrace_at " + Quoted(at)) + " ";
    for (const Word& word : command.words) {
      const bool option = word.name.starts_with("--");
      text += here + (option ? "-l " + word.name.substr(2) : "-f -a " + word.name) + " -d " +
              Quoted(word.help) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string CompletionScript(const CLI::App& app, const std::string& shell) {
  std::vector<Command> commands;
  Collect(app, {}, commands);
  if (shell == "bash") return Bash(commands);
  if (shell == "zsh") return "autoload -U +X bashcompinit && bashcompinit\n" + Bash(commands);
  if (shell == "fish") return Fish(commands);
  return "";
}

void AddCompletion(CLI::App& app, Action& chosen) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "What a shell needs to complete this program's words");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      "Examples:\n"
      "  headrace completion bash > ~/.local/share/bash-completion/completions/headrace\n"
      "  headrace completion zsh >> ~/.zshrc        (after compinit)\n"
      "  headrace completion fish > ~/.config/fish/completions/headrace.fish");
  command->callback([&app, &chosen, shell] {
    chosen = [&app, shell] {
      std::fputs(CompletionScript(app, *shell).c_str(), stdout);
      return 0;
    };
  });
}

}  // namespace headrace::cli
