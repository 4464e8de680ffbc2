#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// What is said to Slurm's commands and what they answer, as text. Formats that Slurm's manual pages
// promise, and no JSON, of which fields change their types between releases. All pure.
namespace headrace::coordinator {

// What each worker gets, as the user wants it.
struct SlurmWishes {
  std::string partition, account, qos, constraint;  // empty: Slurm's defaults
  std::string time;  // walltime, in a form of sbatch's; empty: the partition's
  std::int64_t cores = 1;
  std::uint64_t memory_bytes = 0;  // never 0: without it a job asks for all memory of a node
  std::uint64_t cache_bytes = 0;
  std::int64_t notice_s = 60;       // SIGTERM comes so long before the walltime ends
  std::string output;               // file of what it says, a pattern of sbatch's
  std::vector<std::string> submit;  // more words for sbatch, which win
};

// One array of jobs; batch `number` of the coordinator that began at `epoch`.
struct SlurmBatch {
  std::int64_t number = 0;
  std::int32_t count = 0;
};
struct SlurmOrigin {
  std::string pool;
  std::int64_t epoch = 0;
};

// A job of an array, as squeue shows it.
struct SlurmRow {
  std::string handle;  // "1234_5"
  std::string state;   // "RUNNING"
  std::string node;
  std::string reason;      // why it waits or how it ended, in Slurm's words
  std::int64_t epoch = 0;  // from its comment; 0: it has none of ours
  std::int64_t batch = 0;
};
enum class SlurmPhase : std::uint8_t {
  kQueued,
  kRunning,
  kEnding,  // it has been told to end, and may live for some seconds
  kEnded,
};
// A word that a later release of Slurm may have counts as running: such a job ends when squeue shows
// it no more.
[[nodiscard]] SlurmPhase PhaseOf(std::string_view state);

// sbatch of the batch; the script is its input.
[[nodiscard]] std::vector<std::string> SbatchWords(const SlurmWishes& wishes,
                                                   const SlurmOrigin& origin,
                                                   const SlurmBatch& batch);
// Runs the worker in place of the shell, so that Slurm's signals reach it. `command`: of a worker,
// without what it is to have.
[[nodiscard]] std::string SlurmScript(std::vector<std::string> command, const SlurmWishes& wishes);
// squeue of all jobs of the pool, also of those that have ended of late.
[[nodiscard]] std::vector<std::string> SqueueWords(const SlurmOrigin& origin, std::uint32_t uid);

// The id of the array from sbatch's answer. kUnavailable: the answer is none.
[[nodiscard]] Result<std::string> ParseSbatch(std::string_view answer);
// kUnavailable: a line is not as asked for. Then nothing of the answer is believed.
[[nodiscard]] Result<std::vector<SlurmRow>> ParseSqueue(std::string_view answer);
// What a refusal by sbatch or squeue means: kResourceExhausted for a limit of user, account or QOS, else as
// given. With its kind, where that is known.
[[nodiscard]] Status WhyRefused(const Status& refused);
// The kind of reason for which a job waits: SlurmRow::reason.
[[nodiscard]] Detail WhyQueued(std::string_view reason);
// See Pool::Remedy.
[[nodiscard]] std::string_view SlurmRemedy(Detail trouble);
// Whether it looks as SlurmRow::handle does.
[[nodiscard]] bool IsSlurmHandle(std::string_view text);

// The variables ("NAME=value") that Slurm's commands get, and jobs from them: what finds programs
// and Slurm, and Headrace's own; of the others those of `more`. Settings of a job that this process
// may itself be in would come to the workers.
[[nodiscard]] std::vector<std::string> SlurmEnvironment(const std::vector<std::string>& all,
                                                        const std::vector<std::string>& more);

}  // namespace headrace::coordinator
