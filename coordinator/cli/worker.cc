#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/cli/commands.h"
#include "dataworker/worker_main.h"

namespace headrace::cli {
namespace {

int Work(const dataworker::WorkerOptions& given) {
  dataworker::WorkerOptions options = given;
  const Result<std::string> address = CoordinatorAddress(options.coordinator);
  if (!address.ok()) return Fail(address.status());
  options.coordinator = *address;
  if (!options.listen.empty()) {
    if (Status s = CheckAddress(options.listen); !s.ok()) return Fail(s);
  }
  return dataworker::WorkerMain(options);
}

}  // namespace

void AddLimits(CLI::App& command, std::uint64_t& stage_memory,
               std::vector<std::string>& allowed_roots) {
  command
      .add_option("--stage-memory", stage_memory,
                  "Most data memory of each Python process that runs a program's own transforms, "
                  "for example 4G; Python and torch take about 0.5G of it [default: no limit]")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE");
  command
      .add_option("--allow-root", allowed_roots,
                  "Read files below this directory only, links followed; may be repeated. It does "
                  "not bind a program's own Python code [default: anywhere]")
      ->allow_extra_args(false)
      ->type_name("DIR");
}

void AddWorker(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<dataworker::WorkerOptions>();
  CLI::App* command = app.add_subcommand("worker", "Lend this host's CPUs to a coordinator's jobs");
  command
      ->add_option("--coordinator", options->coordinator,
                   "Its address [default: $HEADRACE_COORDINATOR]")
      ->type_name("ADDRESS");
  command
      ->add_option("--listen", options->listen,
                   "Where trainers reach this worker: tcp://0.0.0.0:0 (any free port; the default "
                   "for a tcp coordinator) or ipc://PATH")
      ->type_name("ADDRESS");
  command
      ->add_option("--advertise", options->advertise,
                   "Host name or address that trainers use for it [default: this host's name]")
      ->type_name("HOST");
  command
      ->add_option("--directory", options->directory,
                   "Private directory of its Unix sockets [default: $XDG_RUNTIME_DIR/headrace or "
                   "/tmp/headrace-UID]")
      ->type_name("DIR");
  command->add_option("--threads", options->threads, "Compute threads [default: usable CPUs]")
      ->check(CLI::Range(0, 65536))
      ->type_name("N");
  command->add_option("--cache", options->cache_bytes, "Memory cache, for example 2G [default: 0]")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE");
  AddLimits(*command, options->stage_memory, options->allowed_roots);
  command->add_option("--parent-pid", options->parent_pid, "End when this process ends")
      ->type_name("PID");
  command->footer(
      "Examples:\n"
      "  headrace worker --coordinator tcp://head:7070\n"
      "  headrace worker --coordinator tcp://head:7070 --threads 16 --cache 64G\n"
      "  headrace worker --coordinator tcp://head:7070 --allow-root /data --stage-memory 4G");
  command->callback([&chosen, options] { chosen = [options] { return Work(*options); }; });
}

}  // namespace headrace::cli
