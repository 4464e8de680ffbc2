#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/ids.h"

namespace headrace::dataworker {

// Decides how many rows may be open at the sources: asked for and not answered, or answered and
// not used yet. It bounds their number and their bytes, for all jobs together, and divides both
// evenly between the jobs that want rows.
//
// How large a row is shows when it is there. Until then it counts as much as the job's rows did on
// average. So the bytes may go beyond the limit by what the open rows are larger than that; no row
// begins until they are below it again. A job that comes later has its part at once, while the
// others give theirs back. So in that time both limits may be exceeded, by a factor of two at most.
// A job without any open row may always begin one.
//
// Pure; thread-compatible.
class ReadWindow {
 public:
  struct Limits {
    std::uint64_t bytes = std::uint64_t{256} << 20;
    std::size_t rows = 512;
  };
  // What a row of a job counts that has read none.
  static constexpr std::uint64_t kGuess = std::uint64_t{128} << 10;

  explicit ReadWindow(Limits limits) : limits_(limits) {}

  // Notes whether the job has rows that wait to begin. It takes part from the first row on until
  // none waits and none is open.
  void SetWaiting(JobId job, bool waiting);
  // Bytes that a row of the job is expected to have.
  [[nodiscard]] std::uint64_t Expected(JobId job) const;
  [[nodiscard]] bool MayBegin(JobId job, std::uint64_t expected) const;
  // Begins a row. REQUIRES: the job waits.
  void Begin(JobId job, std::uint64_t expected);
  // Notes how large the row is, once. `sample`: it is a whole one, so it tells of others.
  void Answer(JobId job, std::uint64_t expected, std::uint64_t bytes, bool sample);
  // Ends a row, after its answer's bytes were used.
  void End(JobId job, std::uint64_t bytes);

  // Of all jobs.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }

 private:
  struct Job {
    bool waiting = false;
    std::uint64_t bytes = 0;
    std::size_t rows = 0;
  };
  static constexpr std::size_t kMostMeans = 1024;
  void EraseWhenOver(JobId job);

  const Limits limits_;
  std::map<JobId, Job> jobs_;
  // Bytes of a sample of each job. When there are too many, all begin anew.
  std::map<JobId, double> means_;
  std::uint64_t bytes_ = 0;
  std::size_t rows_ = 0;
};

}  // namespace headrace::dataworker
