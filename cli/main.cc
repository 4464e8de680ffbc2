#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/version.h"
#include "cli/commands.h"
#include "cli/config_file.h"
#include "cli/launch.h"
#include "cli/program.h"
#include "cli/suggest.h"
#include "dataworker/stage/confine/stage_process.h"

namespace {

// What to say where a subcommand or an option is none that there is; empty: they all are.
std::string WrongWord(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  std::string path = "headrace";
  bool is_value = false;  // of the option before it
  for (const std::string& word : words) {
    if (std::exchange(is_value, false)) continue;
    const bool option = word.starts_with("--");
    const std::string name = word.substr(0, word.find('='));
    std::vector<std::string> known;
    if (option) {
      for (const CLI::Option* each : at->get_options()) {
        for (const std::string& one : each->get_lnames()) known.push_back("--" + one);
        if (each->check_lname(name.substr(2))) {
          is_value = name == word && each->get_items_expected_min() > 0;
        }
      }
    } else {
      for (const CLI::App* sub : at->get_subcommands([](const CLI::App*) { return true; })) {
        known.push_back(sub->get_name());
      }
      if (known.empty()) continue;  // an argument
    }
    if (std::ranges::find(known, name) == known.end()) {
      const std::string meant = headrace::cli::Nearest(name, known);
      return (option ? "no option " : "no subcommand ") + name +
             (meant.empty() ? "; see " : "; did you mean " + meant + "? See ") + path + " --help";
    }
    if (!option) {
      at = at->get_subcommand(word);
      path += " " + word;
    }
  }
  return "";
}

// The file of settings; empty: there is none, or a process that another one of ours starts was told all.
std::string ConfigFor(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--embedded" || word.starts_with("--parent-pid")) return "";
  }
  return headrace::cli::ConfigPath(
      [](const std::string& name) { return headrace::cli::Environment(name.c_str()); },
      [](const std::string& each) { return ::access(each.c_str(), F_OK) == 0; });
}

// Adds what the file of settings says to the words.
headrace::Status ReadConfig(const CLI::App& app, const std::string& path,
                            std::vector<std::string>& words) {
  namespace cli = headrace::cli;
  if (path.empty()) return headrace::Status::Ok();
  std::ifstream file(path);
  if (!file) return headrace::ErrnoStatus(errno, path);
  std::stringstream text;
  text << file.rdbuf();
  headrace::Result<cli::Configured> configured =
      cli::WithConfig(app, words, text.str(),
                      [](const std::string& name) { return cli::Environment(name.c_str()); });
  if (!configured.ok()) return configured.status().WithContext(path);
  cli::SetEnvironment("HEADRACE_COORDINATOR", configured->coordinator);
  cli::SetEnvironment("HEADRACE_KEYS", configured->keys);
  words = std::move(configured->words);
  return headrace::Status::Ok();
}

// What the start of a program waits for. Such a process makes the options of its own subcommand alone: those of all
// take 3 ms. A file of settings may name others.
bool AddAlone(const std::string& name, CLI::App& app, headrace::cli::Action& chosen,
              const std::vector<std::string>& program) {
  if (name == "run") {
    headrace::cli::AddRun(app, chosen, program);
  } else if (name == "coordinator") {
    headrace::cli::AddCoordinator(app, chosen);
  } else if (name == "worker") {
    headrace::cli::AddWorker(app, chosen);
  } else {
    return false;
  }
  return true;
}

void AddAll(CLI::App& app, headrace::cli::Action& chosen, const std::vector<std::string>& program) {
  headrace::cli::AddRun(app, chosen, program);
  headrace::cli::AddExplain(app, chosen, program);
  headrace::cli::AddVerify(app, chosen, program);
  headrace::cli::AddCoordinator(app, chosen);
  headrace::cli::AddWorker(app, chosen);
  headrace::cli::AddJobs(app, chosen);
  headrace::cli::AddWorkers(app, chosen);
  headrace::cli::AddPoolsCommand(app, chosen);
  headrace::cli::AddCache(app, chosen);
  headrace::cli::AddDatasets(app, chosen);
  headrace::cli::AddDrain(app, chosen);
  headrace::cli::AddTop(app, chosen);
  headrace::cli::AddMetrics(app, chosen);
  headrace::cli::AddDoctor(app, chosen);
  headrace::cli::AddKeysCommand(app, chosen);
  headrace::cli::AddAdvise(app, chosen);
  headrace::cli::AddSimulate(app, chosen);
  headrace::cli::AddOperators(app, chosen);
  headrace::cli::AddCompletion(app, chosen);
  headrace::cli::AddManual(app, chosen);
}

}  // namespace

int main(int argc, char** argv) {
  namespace dataworker = headrace::dataworker;
  if (argc > 1 && argv[1] == std::string_view(dataworker::kStageProcess)) {
    dataworker::StageProcessMain({argv + 2, argv + argc});
  }
  CLI::App app(
      "Headrace takes the data preprocessing of a training program to worker processes, on this "
      "host or on others, without a change to the program.");
  app.name("headrace");
  app.set_version_flag("--version", "headrace " + std::string(headrace::kVersion));
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  headrace run python train.py                       local workers, nothing to set up\n"
      "  headrace run --workers 4 --cache 2G -- python train.py --epochs 3\n"
      "  headrace explain train.py                          what would run where, and why\n"
      "  headrace verify train.py                           are its batches bit for bit the same?\n"
      "  headrace keys ~/pool-keys                          who may use a shared pool\n"
      "  headrace coordinator --listen tcp://0.0.0.0:7070   a shared pool: once, with keys\n"
      "  headrace worker --coordinator tcp://head:7070      on each node that lends its CPUs\n"
      "  headrace run --coordinator tcp://head:7070 python train.py\n"
      "  headrace top --coordinator tcp://head:7070\n"
      "\n'headrace SUBCOMMAND --help' tells more. HEADRACE=off bypasses everything.");
  headrace::cli::Action chosen;
  std::vector<std::string> arguments(argv + 1, argv + argc);
  std::vector<std::string> program;
  const auto runs_program = [](const std::string& word) {
    return word == "run" || word == "explain" || word == "verify";
  };
  if (!arguments.empty() && runs_program(arguments[0])) {
    std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
    const bool verify = arguments[0] == "verify";
    program = headrace::cli::TakeProgram(
        rest, verify ? std::vector<std::string>{"--workers"} : std::vector<std::string>{});
    arguments.erase(arguments.begin() + 1, arguments.end());
    arguments.insert(arguments.end(), rest.begin(), rest.end());
  }
  const std::string config = ConfigFor(arguments);
  if (!config.empty() || arguments.empty() || !AddAlone(arguments[0], app, chosen, program)) {
    AddAll(app, chosen, program);
  }
  if (const headrace::Status read = ReadConfig(app, config, arguments); !read.ok()) {
    headrace::cli::Fail(read);
    return 2;
  }
  std::vector<std::string> words;
  // The parser reports with exceptions; they stop here.
  try {
    words = arguments;
    std::reverse(arguments.begin(), arguments.end());  // the order that the parser wants
    app.parse(std::move(arguments));
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    const std::string wrong = WrongWord(app, words);
    std::cerr << "headrace: "
              << (wrong.empty() ? error.what() + std::string("; see headrace --help") : wrong)
              << "\n";
    return 2;
  }
  return chosen();
}
