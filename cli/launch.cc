#include "cli/launch.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "cli/bootstrap.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/query.h"

namespace headrace::cli {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void SetEnvironment(const char* name, const std::string& value) {
  if (!value.empty()) ::setenv(name, value.c_str(), 1);
}

Result<std::string> FromRoot(const std::string& path) {
  if (path.empty()) return path;
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  if (error) return ErrnoStatus(error.value(), path);
  return absolute.string();
}

void AddLaunchOptions(CLI::App& command, LaunchOptions& options, bool worker_count) {
  command
      .add_option("--coordinator", options.coordinator,
                  "Use this coordinator's workers [default: $HEADRACE_COORDINATOR, else workers "
                  "on this host that end with the program]")
      ->type_name("ADDRESS");
  AddKeys(command);
  command.add_flag("--remote-only", options.remote_only,
                   "With a coordinator: do not lend it this host's CPUs while the program runs");
  command.add_flag("--trust-code", options.trust_code,
                   "Take the program's code to keep nothing from sample to sample, so that it may "
                   "run on any host; batches of other hosts are compared all the same");
  command.add_flag("--no-found-functions", options.no_found_functions,
                   "Keep results of no function of the program's code but those that it declares "
                   "with headrace.cached");
  AddCount(command, "--compare", options.compare,
           "Make one of so many batches twice, in the way of the stock loader too, and compare; 0 "
           "for none but the first [default: 256]");
  command
      .add_option("--on-difference", options.on_difference,
                  "When a batch that the program has taken turns out to be another one than the "
                  "stock loader's: raise an error, or warn [default: raise]")
      ->check(CLI::IsMember({"raise", "warn"}))
      ->type_name("WHAT");
  command
      .add_option("--wire", options.wire,
                  "What crosses the network from workers of other hosts: uint8 pixels, which are "
                  "converted and normalised here, batches as-made, or auto, which is what costs "
                  "less; the batches are the same [default: auto]")
      ->check(CLI::IsMember({"auto", "uint8", "as-made"}))
      ->type_name("FORM");
  command
      .add_option("--no-workers", options.no_workers,
                  "While no worker serves the program: it makes its samples itself (local), waits "
                  "(wait), or gets an error after 10 s (fail) [default: local]")
      ->check(CLI::IsMember({"local", "wait", "fail"}))
      ->type_name("WHAT");
  command
      .add_option(
          "--on-bad-sample", options.on_bad_sample,
          "When a sample can't be made: raise its exception, as the stock loader does, skip it, "
          "or substitute another one of the data set [default: raise]")
      ->check(CLI::IsMember({"raise", "skip", "substitute"}))
      ->type_name("WHAT");
  AddCount(command, "--max-bad-samples", options.max_bad_samples,
           "With skip or substitute: raise the exception of the next one after so many bad samples "
           "[default: no bound]");
  command
      .add_option(
          "--sample-deadline", options.sample_deadline,
          "Seconds for one sample of the program's code; one that takes longer is bad. Native work "
          "has them for each 64 samples, and is made elsewhere then. 0 for no deadline [default: "
          "60 for native work, none for the program's code]")
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS");
  if (worker_count) {
    AddCount(command, "--workers", options.workers,
             "Worker processes; with a coordinator the most that serve the program, 0 for no "
             "limit [default: 1; with a coordinator 0]");
  }
  AddSharedThreads(command, options.threads);
  AddCache(command, options.cache, "Memory cache, all local workers together");
  AddSize(command, "--memory", options.memory,
          "Most memory for the batches of one DataLoader, those the program keeps included "
          "[default: 16G]");
  command
      .add_option("--rng", options.rng,
                  "Random streams: torch (the stock DataLoader's), sample (one for each sample: "
                  "other samples than stock's) or auto, which is torch [default: auto]")
      ->check(CLI::IsMember({"auto", "torch", "sample"}))
      ->type_name("MODE");
  command
      .add_option("--tenant", options.tenant,
                  "Whose quota and weight count at the coordinator [default: default]")
      ->type_name("NAME");
  command
      .add_option("--priority", options.priority,
                  "A higher one is served first by the coordinator [default: 0]")
      ->check(CLI::TypeValidator<std::int32_t>())
      ->type_name("N");
  AddSize(command, "--link", options.link,
          "Bytes a second that this host's network carries, each way, for example 1192M for 10 "
          "Gbit/s: the program is granted no more cores of other hosts than it carries the batches "
          "of [default: no limit]");
  command
      .add_option("--rack", options.rack,
                  "Rack of this host: its workers come before others [default: none]")
      ->type_name("NAME");
  command
      .add_option(
          "--epochs", options.epochs,
          "Epochs that the program trains in this run, for policies that look at the work that "
          "is left, as sjf does [default: as its Lightning or Hugging Face Trainer says, else "
          "not known]")
      ->check(CLI::TypeValidator<std::int32_t>())
      ->type_name("N");
}

Status PrepareLaunch(const LaunchOptions& options) {
  const std::string address =
      options.coordinator.empty() ? Environment("HEADRACE_COORDINATOR") : options.coordinator;
  if (!address.empty()) {
    HR_RETURN_IF_ERROR(CheckAddress(address));
    HR_RETURN_IF_ERROR(QueryStatus(address).status());
    SetEnvironment("HEADRACE_COORDINATOR", address);
  }
  HR_TRY(const std::string binary, OwnPath());
  HR_TRY(const std::string bootstrap, FindBootstrap(binary, Environment("HEADRACE_BOOTSTRAP_DIR")));
  SetEnvironment("PYTHONPATH", PrependPath(bootstrap, Environment("PYTHONPATH")));
  SetEnvironment("HEADRACE_BINARY", binary);
  SetEnvironment("HEADRACE_WORKERS", options.workers);
  SetEnvironment("HEADRACE_THREADS", options.threads);
  SetEnvironment("HEADRACE_CACHE", options.cache);
  SetEnvironment("HEADRACE_MEMORY", options.memory);
  SetEnvironment("HEADRACE_RNG", options.rng);
  SetEnvironment("HEADRACE_COMPARE", options.compare);
  SetEnvironment("HEADRACE_ON_DIFFERENCE", options.on_difference);
  SetEnvironment("HEADRACE_NO_WORKERS", options.no_workers);
  SetEnvironment("HEADRACE_ON_BAD_SAMPLE", options.on_bad_sample);
  SetEnvironment("HEADRACE_MAX_BAD_SAMPLES", options.max_bad_samples);
  SetEnvironment("HEADRACE_SAMPLE_DEADLINE", options.sample_deadline);
  SetEnvironment("HEADRACE_WIRE", options.wire);
  if (options.trust_code) SetEnvironment("HEADRACE_TRUST_CODE", "1");
  if (options.no_found_functions) SetEnvironment("HEADRACE_FOUND_FUNCTIONS", "off");
  if (options.remote_only) SetEnvironment("HEADRACE_LOCAL_WORKER", "off");
  SetEnvironment("HEADRACE_TENANT", options.tenant);
  SetEnvironment("HEADRACE_PRIORITY", options.priority);
  SetEnvironment("HEADRACE_LINK", options.link);
  SetEnvironment("HEADRACE_RACK", options.rack);
  SetEnvironment("HEADRACE_EPOCHS", options.epochs);
  if (options.warm) {
    if (address.empty()) {
      return InvalidArgument(
          "--warm fills the cache of a coordinator's workers, which stay: name it with "
          "--coordinator");
    }
    SetEnvironment("HEADRACE_WARM", "on");
    SetEnvironment("HEADRACE_LOCAL_WORKER", "off");  // what it caches would end with the program
  }
  SetEnvironment("HEADRACE", "on");
  return Status::Ok();
}

}  // namespace headrace::cli
