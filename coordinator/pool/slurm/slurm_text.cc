#include "coordinator/pool/slurm/slurm_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "coordinator/pool/core/command_words.h"

namespace headrace::coordinator {
namespace {

constexpr char kFormat[] = "%F|%K|%T|%N|%r|%k";
constexpr std::size_t kFields = 6;
constexpr char kEpoch[] = " epoch=";
constexpr char kBatch[] = " batch=";

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool IsIn(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// The number after `name` in a comment; 0: none.
std::int64_t NumberAfter(std::string_view comment, std::string_view name) {
  const std::size_t at = comment.find(name);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = comment.substr(at + name.size());
  std::int64_t number = 0;
  (void)std::from_chars(rest.data(), rest.data() + rest.size(), number);
  return number;
}

}  // namespace

SlurmPhase PhaseOf(std::string_view state) {
  // A node that is configured may have to boot first, for many minutes.
  if (IsIn(state, {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD"})) {
    return SlurmPhase::kQueued;
  }
  if (state == "COMPLETING") return SlurmPhase::kEnding;
  if (IsIn(state, {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL",
                   "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"})) {
    return SlurmPhase::kEnded;
  }
  return SlurmPhase::kRunning;
}

std::vector<std::string> SbatchWords(const SlurmWishes& wishes, const SlurmOrigin& origin,
                                     const SlurmBatch& batch) {
  std::vector<std::string> words = {
      "sbatch",
      "--parsable",
      "--array=0-" + std::to_string(batch.count - 1),
      "--job-name=" + origin.pool,
      "--comment=headrace pool=" + origin.pool + kEpoch + std::to_string(origin.epoch) + kBatch +
          std::to_string(batch.number),
      "--no-requeue",
      "--export=ALL",
      "--nodes=1",
      "--ntasks=1",
      "--cpus-per-task=" + std::to_string(wishes.cores),
      "--mem=" + std::to_string(std::max<std::uint64_t>(wishes.memory_bytes >> 20, 1)) + "M",
      // To the batch shell, which is the worker.
      "--signal=B:TERM@" + std::to_string(wishes.notice_s),
  };
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.push_back(name + value);
  };
  add("--partition=", wishes.partition);
  add("--account=", wishes.account);
  add("--qos=", wishes.qos);
  add("--constraint=", wishes.constraint);
  add("--time=", wishes.time);
  add("--output=", wishes.output);
  words.insert(words.end(), wishes.submit.begin(), wishes.submit.end());
  return words;
}

std::string SlurmScript(std::vector<std::string> command, const SlurmWishes& wishes) {
  const auto add = [&](const char* name, std::uint64_t value) {
    command.emplace_back(name);
    command.push_back(std::to_string(value));
  };
  add("--threads", static_cast<std::uint64_t>(wishes.cores));
  add("--cache", wishes.cache_bytes);
  // Where Slurm does not confine jobs, a worker would take the whole node's memory for its own.
  add("--memory", wishes.memory_bytes - wishes.memory_bytes / 16);
  return "#!/bin/sh\nexec " + QuoteWords(command) +
         " --pool-member \"${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}\"\n";
}

std::vector<std::string> SqueueWords(const SlurmOrigin& origin, std::uint32_t uid) {
  return {"squeue",
          "--noheader",
          "--array",
          "--states=all",
          "--name=" + origin.pool,
          "--user=" + std::to_string(uid),
          "-o",
          kFormat};
}

Result<std::string> ParseSbatch(std::string_view answer) {
  const std::string_view id = answer.substr(0, answer.find_first_of(";\n"));  // "ID[;CLUSTER]"
  if (!IsNumber(id)) {
    return Unavailable("sbatch answers no job id: " + std::string(answer.substr(0, 200)));
  }
  return std::string(id);
}

Result<std::vector<SlurmRow>> ParseSqueue(std::string_view answer) {
  std::vector<SlurmRow> rows;
  while (!answer.empty()) {
    const std::size_t end = std::min(answer.find('\n'), answer.size());
    std::string_view line = answer.substr(0, end);
    answer.remove_prefix(std::min(end + 1, answer.size()));
    if (line.empty()) continue;
    std::array<std::string_view, kFields> fields;
    for (std::size_t i = 0; i < kFields; ++i) {
      const bool last = i + 1 == kFields;  // a comment may hold anything
      const std::size_t bar = last ? line.size() : line.find('|');
      if (bar == std::string_view::npos) {
        return Unavailable("squeue answers a line of another form");
      }
      fields[i] = line.substr(0, bar);
      line.remove_prefix(std::min(bar + 1, line.size()));
    }
    // A job of this name that is in no array is none of ours.
    if (!IsNumber(fields[0]) || !IsNumber(fields[1])) continue;
    rows.push_back({.handle = std::string(fields[0]) + "_" + std::string(fields[1]),
                    .state = std::string(fields[2]),
                    .node = std::string(fields[3]),
                    .reason = fields[4] == "None" ? "" : std::string(fields[4]),
                    .epoch = NumberAfter(fields[5], kEpoch),
                    .batch = NumberAfter(fields[5], kBatch)});
  }
  return rows;
}

Status WhyRefused(const Status& refused) {
  const std::string& said = refused.message();
  // "sbatch: error: AssocMaxSubmitJobLimit", and then "Job violates accounting/QOS policy (job submit
  // limit, user's size and/or time limits)".
  const auto says = [&](const char* words) { return said.find(words) != std::string::npos; };
  const bool limit = says("accounting/QOS policy") || says("MaxSubmit") || says("GrpSubmit");
  if (limit) return ResourceExhausted(said).WithDetail(Detail::kQuota);
  if (says("nvalid partition")) return refused.WithDetail(Detail::kNoPlace);
  if (says("Invalid account") || says("Invalid qos") || says("permission denied") ||
      says("not permitted") || says("not authorized")) {
    return refused.WithDetail(Detail::kForbidden);
  }
  // slurmctld is asked by each command. One that took too long, or is not there, is as bad.
  const bool silent = says("Unable to contact slurm controller") || says("Socket timed out") ||
                      says("Unable to resolve") || refused.code() == Code::kDeadlineExceeded ||
                      refused.code() == Code::kNotFound;
  return silent ? refused.WithDetail(Detail::kUnreachable) : refused;
}

// Source: slurm_job_reason_string of Slurm (src/common/slurm_protocol_defs.c).
Detail WhyQueued(std::string_view reason) {
  if (reason.empty()) return Detail::kNone;
  if (IsIn(reason, {"AccountNotAllowed", "InvalidAccount", "InvalidQOS", "QOSNotAllowed"})) {
    return Detail::kForbidden;
  }
  if (reason.starts_with("Assoc") || reason.starts_with("QOS")) return Detail::kQuota;
  return reason.starts_with("Partition") ? Detail::kNoPlace : Detail::kNoRoom;
}

std::string_view SlurmRemedy(Detail trouble) {
  if (trouble == Detail::kForbidden) {
    return "name an account, partition and QOS that this user may use: --slurm-account, "
           "--slurm-partition, --slurm-qos";
  }
  if (trouble == Detail::kNoPlace) {
    return "name a partition that `sinfo --summarize` lists as up: --slurm-partition, or "
           "`partition=` of its --pool";
  }
  if (trouble == Detail::kUnreachable) {
    return "look whether `sinfo` answers on the coordinator's host; workers that run go on";
  }
  if (trouble == Detail::kWorkersFail) {
    return "read what a worker says, in headrace-*.out or the file of --slurm-output: keys and a "
           "firewall are common causes";
  }
  return "";
}

bool IsSlurmHandle(std::string_view text) {
  const std::size_t bar = text.find('_');
  return bar != std::string_view::npos && IsNumber(text.substr(0, bar)) &&
         IsNumber(text.substr(bar + 1)) && text.size() < 40;
}

std::vector<std::string> SlurmEnvironment(const std::vector<std::string>& all,
                                          const std::vector<std::string>& more) {
  std::vector<std::string> kept;
  for (const std::string& variable : all) {
    const std::string name = variable.substr(0, variable.find('='));
    const bool ours = IsIn(name, {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ",
                                  "LD_LIBRARY_PATH", "SLURM_CONF", "SLURM_CLUSTERS"}) ||
                      name.starts_with("LC_") ||
                      (name.starts_with("SBATCH_") && name != "SBATCH_WAIT") ||
                      name.starts_with("HEADRACE");
    if (ours || std::ranges::find(more, name) != more.end()) kept.push_back(variable);
  }
  return kept;
}

}  // namespace headrace::coordinator
