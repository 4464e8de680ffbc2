#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/process/allowance.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "dataworker/worker/worker_main.h"
#include "net/intake_gate.h"

namespace headrace::cli {
namespace {

int Work(const dataworker::WorkerOptions& given) {
  dataworker::WorkerOptions options = given;
  const Result<std::string> address = CoordinatorAddress(options.coordinator);
  if (!address.ok()) return Fail(address.status());
  options.coordinator = *address;
  options.keys = KeysDirectory(options.listen.starts_with("tcp://") ? options.listen : *address);
  if (!options.listen.empty()) {
    if (Status s = CheckAddress(options.listen); !s.ok()) return Fail(s);
  }
  const std::uint64_t memory = options.memory_bytes;
  net::OpenIntakeGate(memory > 0 ? memory : ReadAllowance().memory_bytes);
  return dataworker::WorkerMain(options);
}

}  // namespace

void AddWorker(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<dataworker::WorkerOptions>();
  CLI::App* command = app.add_subcommand("worker", "Lend this host's CPUs to a coordinator's jobs");
  AddCoordinatorAddress(*command, options->coordinator);
  command
      ->add_option("--listen", options->listen,
                   "Where trainers reach this worker: tcp://ADDRESS:PORT (0: any free port) or "
                   "ipc://PATH [default: the address by which this host reaches the coordinator]")
      ->type_name("ADDRESS");
  command
      ->add_option("--advertise", options->advertise,
                   "Host name or address that trainers use for it [default: where it listens]")
      ->type_name("HOST");
  AddInsecure(*command, options->insecure);
  command
      ->add_option("--directory", options->directory,
                   "Private directory of its Unix sockets [default: $XDG_RUNTIME_DIR/headrace or "
                   "/tmp/headrace-UID]")
      ->type_name("DIR");
  AddCount(*command, "--threads", options->threads, "Compute threads [default: usable CPUs]");
  auto cache = std::make_shared<std::string>();
  AddCache(*command, *cache, "Memory cache");
  command->add_option("--cache-tier", options->cache_tiers, dataworker::CacheTierHelp())
      ->allow_extra_args(false)
      ->type_name("NAME[:KEY=VALUE,...]");
  AddSize(*command, "--source-bytes-per-second", options->source_bytes_per_second,
          "Most bytes a second that are read at sources, for example 200M [default: no limit]");
  AddSize(*command, "--source-ahead", options->source_ahead_bytes,
          "Most bytes of samples that are read ahead of the compute threads [default: 256M]");
  AddSize(*command, "--share-from", options->share_from_bytes,
          "Ask other workers of this host for cached samples where they take so much or more: to "
          "make smaller ones costs less [default: 64K]");
  AddSize(*command, "--link", options->link_bytes_per_second,
          "Bytes a second that this host's network carries, each way, for example 1192M for 10 "
          "Gbit/s: programs on other hosts are granted no more cores than it carries the batches "
          "of. All workers of the host share it [default: no limit]");
  command
      ->add_option("--rack", options->rack,
                   "Rack of this host: programs in it come before others [default: none]")
      ->type_name("NAME");
  command
      ->add_option("--pool-member", options->member,
                   "What the coordinator's pool calls this worker; the pool adds it")
      ->type_name("NAME");
  AddCount(*command, "--source-requests", options->source_requests,
           "Most samples that are asked of sources at the same time [default: 512]");
  AddCount(*command, "--io-threads", options->io_threads,
           "Most threads that wait for files [default: 16]");
  AddMemory(*command, "--memory", options->memory_bytes,
            "What it may use of the host's memory, cache and all, without the processes of a "
            "program's own Python code [default: what the host or the container allows, less a "
            "sixteenth]");
  for (Quota* quota : options->quotas.All()) AddQuota(*command, *quota);
  AddLimits(*command, options->stages, options->allowed_roots, options->allowed_endpoints);
  AddHttp(*command, options->http_address, options->http_token_file);
  AddParentPid(*command, options->parent_pid);
  command->add_flag("--local", options->local,
                    "Serve programs of this host and user alone; wait while another such worker "
                    "does, and end where the host has a worker of the coordinator");
  command->footer(
      "Examples:\n"
      "  headrace worker --coordinator tcp://head:7070\n"
      "  headrace worker --coordinator tcp://head:7070 --threads 16 --cache 64G\n"
      "  headrace worker --coordinator tcp://head:7070 --cache-tier memory:size=64G\n"
      "  headrace worker --coordinator tcp://head:7070 --allow-root /data --stage-memory 4G");
  command->callback([&chosen, options, cache] {
    // Who names tiers has said what memory they take.
    if (!cache->empty() || options->cache_tiers.empty()) options->cache_bytes = CacheBytes(*cache);
    chosen = [options] { return Work(*options); };
  });
}

}  // namespace headrace::cli
