#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/launch.h"
#include "cli/program.h"

namespace headrace::cli {
namespace {

struct Options {
  LaunchOptions launch;
  std::string report;
  std::vector<std::string> program;
};

// Replaces this process by the program; returns only on failure.
int Execute(const std::vector<std::string>& program) {
  std::vector<char*> argv;
  for (const std::string& word : program) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  Fail(ErrnoStatus(errno, "run " + program[0]));
  return 127;  // the code that a shell gives
}

Status Prepare(const Options& options) {
  HR_RETURN_IF_ERROR(PrepareLaunch(options.launch));
  HR_TRY(const std::string report, FromRoot(options.report));
  SetEnvironment("HEADRACE_REPORT", report);
  return Status::Ok();
}

int Run(const Options& options) {
  if (options.program.empty()) {
    Fail(InvalidArgument("run what? for example: headrace run python train.py"));
    return 2;
  }
  if (Environment("HEADRACE") != "off") {
    if (Status s = Prepare(options); !s.ok()) return Fail(s);
  }
  return Execute(WithInterpreter(options.program, Environment("PATH")));
}

}  // namespace

void AddRun(CLI::App& app, Action& chosen, std::vector<std::string> program) {
  auto options = std::make_shared<Options>();
  options->program = std::move(program);
  CLI::App* command = app.add_subcommand(
      "run", "Run a Python training program whose DataLoaders are served by workers");
  AddLaunchOptions(*command, options->launch);
  command->add_option("--report", options->report, "Write what happened there, as JSON, at the end")
      ->type_name("FILE");
  command->add_flag("--warm", options->launch.warm,
                    "With a coordinator: have its workers fill the cache with the data set of the "
                    "program's first loader, and end before the first batch");
  command->footer(
      "headrace run [OPTIONS] [--] PROGRAM [ARGUMENTS...]\n"
      "The program runs as this very process. HEADRACE=off runs it untouched. A program whose name "
      "ends in .py is run by python.\n"
      "\nExamples:\n"
      "  headrace run python train.py\n"
      "  headrace run --workers 4 --cache 2G --report report.json -- python train.py --epochs 3\n"
      "  headrace run --coordinator tcp://head:7070 torchrun --nproc-per-node 8 train.py");
  command->callback([&chosen, options] { chosen = [options] { return Run(*options); }; });
}

}  // namespace headrace::cli
