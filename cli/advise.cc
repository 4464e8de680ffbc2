#include "simulate/what_if/advise.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/query.h"
#include "cli/state_file.h"
#include "coordinator/policy/core/policy.h"
#include "simulate/trace/csv.h"

namespace headrace::cli {
namespace {

struct Options {
  std::string coordinator;
  std::string job;
  std::string from_state;
  bool state = false, json = false;
};

struct Asked {
  simulate::LiveState state;
  std::string job;  // its name in the state; "": all
};

Result<Asked> Ask(const Options& options) {
  if (!options.from_state.empty()) {
    HR_TRY(simulate::LiveState state, ReadStateFile(options.from_state));
    return Asked{std::move(state), options.job};
  }
  HR_TRY(const std::string address, CoordinatorAddress(options.coordinator));
  HR_TRY(const wire::ClusterStatus status, QueryStatus(address));
  HR_TRY(simulate::LiveState state, simulate::LiveStateOf(status));
  return Asked{std::move(state), simulate::ProgramOf(status, options.job)};
}

Result<std::string> Answer(const Options& options) {
  HR_TRY(const Asked asked, Ask(options));
  if (options.state) return simulate::LiveStateJson(asked.state);
  std::optional<std::size_t> job;
  if (!asked.job.empty()) {
    HR_TRY(job, simulate::FindJob(asked.state, asked.job));
  }
  coordinator::PolicyRegistry policies;
  RegisterPolicies(policies);
  const coordinator::Policy* const policy = policies.Find(asked.state.policy);
  if (policy == nullptr) return NotFound("no policy " + asked.state.policy + " in this release");
  HR_TRY(const simulate::Advice advice, simulate::Advise(asked.state, *policy, job));
  return options.json ? AdviceJson(asked.state, advice, job)
                      : AdviceTable(asked.state, advice, job);
}

}  // namespace

Result<simulate::LiveState> ReadStateFile(const std::string& path) {
  if (path != "-") {
    HR_TRY(const std::string text, simulate::ReadFile(path));
    return simulate::ReadLiveState(path, text);
  }
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  return simulate::ReadLiveState("standard input", text);
}

void AddAdvise(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("advise",
                         "What more cores, cache or bandwidth would change, by the coordinator's "
                         "own policy on its jobs of "
                         "now; in which order the cluster's scheduler should give GPUs");
  command->add_option("job", options->job, "Number of a job, to say what would help it")
      ->type_name("JOB");
  AddCoordinatorAddress(*command, options->coordinator);
  command
      ->add_option("--from-state", options->from_state,
                   "Ask about a state in this file, in place of a coordinator's; -: standard input")
      ->excludes(command->get_option("--coordinator"))
      ->type_name("FILE");
  command->add_flag(
      "--state", options->state,
      "Print the state that it would ask about, for `headrace simulate --from-state`");
  command->add_flag("--json", options->json, "JSON instead of a table");
  command->footer(
      "Examples:\n"
      "  headrace advise --coordinator tcp://head:7070\n"
      "  headrace advise 17 --json --coordinator tcp://head:7070\n"
      "  headrace advise --state --coordinator tcp://head:7070 | headrace simulate --from-state -");
  command->callback([&chosen, options] {
    chosen = [options] {
      const Result<std::string> answer = Answer(*options);
      if (!answer.ok()) return Fail(answer.status());
      std::fputs(answer->c_str(), stdout);
      return 0;
    };
  });
}

}  // namespace headrace::cli
