#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.h"
#include "cli/commands.h"
#include "cli/program.h"
#include "dataworker/stage/confine/stage_process.h"

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
  headrace::cli::AddRun(app, chosen, program);
  headrace::cli::AddExplain(app, chosen, program);
  headrace::cli::AddVerify(app, chosen, program);
  headrace::cli::AddCoordinator(app, chosen);
  headrace::cli::AddWorker(app, chosen);
  headrace::cli::AddJobs(app, chosen);
  headrace::cli::AddWorkers(app, chosen);
  headrace::cli::AddCache(app, chosen);
  headrace::cli::AddDatasets(app, chosen);
  headrace::cli::AddTop(app, chosen);
  headrace::cli::AddMetrics(app, chosen);
  headrace::cli::AddKeysCommand(app, chosen);
  headrace::cli::AddSimulate(app, chosen);
  // The parser reports with exceptions; they stop here.
  try {
    std::reverse(arguments.begin(), arguments.end());  // the order that the parser wants
    app.parse(std::move(arguments));
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    std::cerr << "headrace: " << error.what() << "; see headrace --help\n";
    return 2;
  }
  return chosen();
}
