#include "cli/config_file.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <sstream>

namespace headrace::cli {
namespace {

const CLI::App* FindSubcommand(const CLI::App& app, const std::string& name) {
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (sub->get_name() == name) return sub;
  }
  return nullptr;
}

const CLI::Option* FindOption(const CLI::App& app, const std::string& name) {
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional() && option->check_lname(name)) return option;
  }
  return nullptr;
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ".") + part;
  return text;
}

// "HEADRACE_NO_WORKERS" of "no-workers".
std::string VariableOf(const std::string& option) {
  std::string name = "HEADRACE_" + option;
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return name;
}

bool Said(const std::vector<std::string>& words, const std::string& option) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return word == "--" + option || word.starts_with("--" + option + "=");
  });
}

// The words of one key for the command line.
Result<std::vector<std::string>> WordsOf(const CLI::ConfigItem& item, const CLI::Option& option) {
  const bool flag = option.get_items_expected_min() == 0;
  std::vector<std::string> words;
  for (const std::string& value : item.inputs) {
    if (!flag) {
      words.push_back("--" + item.name + "=" + value);
    } else if (value == "true") {
      words.push_back("--" + item.name);
    } else if (value != "false") {
      return InvalidArgument("[" + Joined(item.parents) + "] " + item.name +
                             ": write true or false");
    }
  }
  return words;
}

}  // namespace

std::string ConfigPath(const EnvironmentOf& environment,
                       const std::function<bool(const std::string&)>& exists) {
  if (std::string named = environment("HEADRACE_CONFIG"); !named.empty()) return named;
  std::string folder = environment("XDG_CONFIG_HOME");
  if (folder.empty() && !environment("HOME").empty()) folder = environment("HOME") + "/.config";
  if (const std::string own = folder + "/headrace.toml"; !folder.empty() && exists(own)) return own;
  const std::string host = "/etc/headrace.toml";
  return exists(host) ? host : "";
}

Result<Configured> WithConfig(const CLI::App& app, std::vector<std::string> words,
                              const std::string& text, const EnvironmentOf& environment) {
  // The command of the words, and where the words after its name begin.
  const CLI::App* command = &app;
  std::vector<std::string> path;
  while (path.size() < words.size()) {
    const CLI::App* below = FindSubcommand(*command, words[path.size()]);
    if (below == nullptr) break;
    command = below;
    path.push_back(below->get_name());
  }
  std::vector<CLI::ConfigItem> items;
  // The parser reports with exceptions; they stop here.
  try {
    std::istringstream in(text);
    items = CLI::ConfigTOML().from_config(in);
  } catch (const CLI::Error& error) {
    return InvalidArgument(error.what());
  }
  Configured out;
  std::vector<std::string> added;
  for (const CLI::ConfigItem& item : items) {
    if (item.name == "++" || item.name == "--") continue;  // a section begins or ends
    if (item.parents.empty()) {
      if ((item.name != "coordinator" && item.name != "keys") || item.inputs.size() != 1) {
        return InvalidArgument(item.name +
                               ": only coordinator and keys may stand above all sections");
      }
      std::string& value = item.name == "keys" ? out.keys : out.coordinator;
      if (environment(VariableOf(item.name)).empty()) value = item.inputs[0];
      continue;
    }
    const CLI::App* section = &app;
    for (const std::string& part : item.parents) {
      section = section == nullptr ? nullptr : FindSubcommand(*section, part);
    }
    if (section == nullptr)
      return InvalidArgument("[" + Joined(item.parents) + "]: no such command");
    const CLI::Option* option = FindOption(*section, item.name);
    if (option == nullptr) {
      return InvalidArgument("[" + Joined(item.parents) + "] " + item.name + ": no such option");
    }
    if (item.parents != path || Said(words, item.name)) continue;
    if (!environment(VariableOf(item.name)).empty()) continue;
    HR_TRY(const std::vector<std::string> more, WordsOf(item, *option));
    added.insert(added.end(), more.begin(), more.end());
  }
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(path.size()), added.begin(),
               added.end());
  out.words = std::move(words);
  return out;
}

}  // namespace headrace::cli
