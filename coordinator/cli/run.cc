#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "coordinator/cli/bootstrap.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/options.h"
#include "coordinator/cli/query.h"

namespace headrace::cli {
namespace {

struct Options {
  std::string coordinator;
  std::string workers;
  std::string threads;
  std::string cache;
  std::string memory;
  std::string report;
  std::string rng;
  std::vector<std::string> program;
};

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}
void Set(const char* name, const std::string& value) {
  if (!value.empty()) ::setenv(name, value.c_str(), 1);
}

// Replaces this process by the program; returns only when that fails.
int Execute(const std::vector<std::string>& program) {
  std::vector<char*> argv;
  for (const std::string& word : program) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  Fail(ErrnoStatus(errno, "run " + program[0]));
  return 127;  // as a shell says it
}

// Where the program will look for Headrace: its environment.
Status Prepare(const Options& options) {
  const std::string address =
      options.coordinator.empty() ? Environment("HEADRACE_COORDINATOR") : options.coordinator;
  if (!address.empty()) {
    HR_RETURN_IF_ERROR(CheckAddress(address));
    HR_RETURN_IF_ERROR(QueryStatus(address).status());
    Set("HEADRACE_COORDINATOR", address);
  }
  HR_TRY(const std::string binary, OwnPath());
  HR_TRY(const std::string bootstrap, FindBootstrap(binary, Environment("HEADRACE_BOOTSTRAP_DIR")));
  Set("PYTHONPATH", PrependPath(bootstrap, Environment("PYTHONPATH")));
  Set("HEADRACE_BINARY", binary);
  Set("HEADRACE_WORKERS", options.workers);
  Set("HEADRACE_THREADS", options.threads);
  Set("HEADRACE_CACHE", options.cache);
  Set("HEADRACE_MEMORY", options.memory);
  if (!options.report.empty()) {
    // The program may change its directory.
    std::error_code error;
    const auto report = std::filesystem::absolute(options.report, error);
    if (error) return ErrnoStatus(error.value(), "report " + options.report);
    Set("HEADRACE_REPORT", report.string());
  }
  Set("HEADRACE_RNG", options.rng);
  Set("HEADRACE", "on");
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
  return Execute(options.program);
}

}  // namespace

void AddRun(CLI::App& app, Action& chosen, std::vector<std::string> program) {
  auto options = std::make_shared<Options>();
  options->program = std::move(program);
  CLI::App* command = app.add_subcommand(
      "run", "Run a Python training program whose DataLoaders are served by workers");
  command
      ->add_option("--coordinator", options->coordinator,
                   "Use this coordinator's workers [default: $HEADRACE_COORDINATOR, else workers "
                   "on this host that end with the program]")
      ->type_name("ADDRESS");
  AddCount(*command, "--workers", options->workers, "Worker processes [default: 1]");
  AddSharedThreads(*command, options->threads);
  AddSize(*command, "--cache", options->cache,
          "Memory cache, all local workers together, for example 2G [default: 0]");
  AddSize(*command, "--memory", options->memory,
          "Most memory for the batches of one DataLoader, those the program keeps included "
          "[default: 16G]");
  command->add_option("--report", options->report, "Write what happened there, as JSON, at the end")
      ->type_name("FILE");
  command
      ->add_option("--rng", options->rng,
                   "Random streams: torch (the stock DataLoader's), sample (one for each sample) "
                   "or auto [default: auto]")
      ->check(CLI::IsMember({"auto", "torch", "sample"}))
      ->type_name("MODE");
  command->footer(
      "headrace run [OPTIONS] [--] PROGRAM [ARGUMENTS...]\n"
      "The program runs as this very process. HEADRACE=off runs it untouched.\n"
      "\nExamples:\n"
      "  headrace run python train.py\n"
      "  headrace run --workers 4 --cache 2G --report report.json -- python train.py --epochs 3\n"
      "  headrace run --coordinator tcp://head:7070 torchrun --nproc-per-node 8 train.py");
  command->callback([&chosen, options] { chosen = [options] { return Run(*options); }; });
}

}  // namespace headrace::cli
