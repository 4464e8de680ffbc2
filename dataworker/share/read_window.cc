#include "dataworker/share/read_window.h"

#include <algorithm>

#include "dataworker/share/moving_mean.h"

namespace headrace::dataworker {

void ReadWindow::SetWaiting(JobId job, bool waiting) {
  if (waiting) {
    jobs_[job].waiting = true;
    return;
  }
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  found->second.waiting = false;
  EraseWhenOver(job);
}

std::uint64_t ReadWindow::Expected(JobId job) const {
  const auto found = means_.find(job);
  return found == means_.end() ? kGuess : static_cast<std::uint64_t>(found->second);
}

bool ReadWindow::MayBegin(JobId id, std::uint64_t expected) const {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return false;
  const Job& job = found->second;
  if (job.rows == 0) return true;
  const std::size_t sharing = jobs_.size();
  return job.rows < std::max<std::size_t>(limits_.rows / sharing, 1) &&
         job.bytes + expected <= limits_.bytes / sharing && rows_ < 2 * limits_.rows &&
         bytes_ + expected <= 2 * limits_.bytes;
}

void ReadWindow::Begin(JobId id, std::uint64_t expected) {
  Job& job = jobs_.at(id);
  ++job.rows;
  ++rows_;
  job.bytes += expected;
  bytes_ += expected;
}

void ReadWindow::Answer(JobId id, std::uint64_t expected, std::uint64_t bytes, bool sample) {
  Job& job = jobs_.at(id);
  job.bytes += bytes - expected;
  bytes_ += bytes - expected;
  if (!sample) return;
  const auto size = static_cast<double>(bytes);
  if (means_.size() > kMostMeans) means_.clear();
  const auto [mean, first] = means_.try_emplace(id, size);
  if (!first) mean->second = NextMean(mean->second, size);
}

void ReadWindow::End(JobId id, std::uint64_t bytes) {
  Job& job = jobs_.at(id);
  --job.rows;
  --rows_;
  job.bytes -= bytes;
  bytes_ -= bytes;
  EraseWhenOver(id);
}

void ReadWindow::EraseWhenOver(JobId id) {
  const auto found = jobs_.find(id);
  if (!found->second.waiting && found->second.rows == 0) jobs_.erase(found);
}

}  // namespace headrace::dataworker
