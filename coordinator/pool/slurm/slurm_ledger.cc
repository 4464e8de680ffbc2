#include "coordinator/pool/slurm/slurm_ledger.h"

#include <algorithm>
#include <set>

#include "base/check.h"

namespace headrace::coordinator {
namespace {

using State = PoolMember::State;
using Key = std::pair<std::int64_t, std::int64_t>;

constexpr std::size_t kMostClaims = 4096;  // a worker's word; anybody with a worker's key may lie

// REQUIRES: IsSlurmHandle(handle), but of numbers of any length.
Key KeyOf(const std::string& handle) {
  const std::size_t bar = handle.find('_');
  return {std::strtoll(handle.c_str(), nullptr, 10),
          std::strtoll(handle.c_str() + bar + 1, nullptr, 10)};
}

}  // namespace

std::int32_t SlurmLedger::size() const {
  return asked_ + (on_its_way_ ? on_its_way_->count : 0) + static_cast<std::int32_t>(tasks_.size());
}

std::vector<PoolMember> SlurmLedger::List() const {
  std::vector<PoolMember> list;
  for (const auto& [key, task] : tasks_) list.push_back(task.shown);
  list.resize(static_cast<std::size_t>(size()), PoolMember{.state = State::kQueued});
  return list;
}

Status SlurmLedger::Ask(std::int32_t count) {
  if (!ready_) return Unavailable("Slurm has not told yet which workers of this pool there are");
  if (size() + count > most_) {
    return ResourceExhausted("the slurm pool has " + std::to_string(size()) +
                             " workers and may have " + std::to_string(most_) + "; " +
                             std::to_string(count) + " more do not fit");
  }
  asked_ += std::max(count, 0);
  return Status::Ok();
}

std::optional<SlurmBatch> SlurmLedger::NextBatch() {
  if (on_its_way_ || asked_ == 0) return std::nullopt;
  on_its_way_ = SlurmBatch{++batches_, std::min(asked_, kMostOfABatch)};
  asked_ -= on_its_way_->count;
  return on_its_way_;
}

void SlurmLedger::Taken(const std::string& id) {
  HR_CHECK(on_its_way_.has_value());
  for (std::int32_t i = 0; i < on_its_way_->count; ++i) Add(id + "_" + std::to_string(i));
  on_its_way_.reset();
}

SlurmLedger::Outcome SlurmLedger::Refused(const Status& why) {
  HR_CHECK(on_its_way_.has_value());
  const std::int32_t count = on_its_way_->count;
  const std::int32_t again = why.code() == Code::kResourceExhausted ? count / 2 : 0;
  on_its_way_.reset();
  asked_ += again;
  Outcome outcome;
  outcome.failed.emplace_back(count - again, why);
  return outcome;
}

SlurmLedger::Outcome SlurmLedger::Listed(const std::vector<SlurmRow>& rows, SteadyTime now) {
  Outcome outcome;
  std::set<Key> listed;
  std::int32_t found_of_doubt = 0;
  for (const SlurmRow& row : rows) {
    const Key key = KeyOf(row.handle);
    const SlurmPhase phase = PhaseOf(row.state);
    const bool doubted =
        in_doubt_ && row.epoch == origin_.epoch && row.batch == on_its_way_->number;
    if (doubted) ++found_of_doubt;
    const auto known = tasks_.find(key);
    if (phase == SlurmPhase::kEnded) {
      if (known == tasks_.end()) continue;
      const std::string reason = row.reason.empty() ? "" : " (" + row.reason + ")";
      Finish(known->second, row.state + reason, now, outcome);
      tasks_.erase(known);
      continue;
    }
    listed.insert(key);
    See(known == tasks_.end() ? Add(row.handle) : known->second, row);
  }
  std::erase_if(tasks_, [&](const auto& each) {
    // A job that sbatch told of after squeue had begun may be lacking there.
    if (listed.contains(each.first) || each.second.listings >= listings_) return false;
    Finish(each.second, "it is gone", now, outcome);
    return true;
  });
  if (in_doubt_ && listings_ > doubt_since_) {
    in_doubt_ = false;
    if (const std::int32_t lacking = on_its_way_->count - found_of_doubt; lacking > 0) {
      outcome.failed.emplace_back(
          lacking, Unavailable("sbatch did not answer in time").WithDetail(Detail::kUnreachable));
    }
    on_its_way_.reset();
  }
  ready_ = true;
  // One that runs is listed: whoever made such a claim before, this pool does not have it.
  std::erase_if(claims_, [&](const auto& each) { return each.second.listings < listings_; });
  return outcome;
}

std::optional<bool> SlurmLedger::End(const std::string& handle) {
  if (!IsSlurmHandle(handle)) return std::nullopt;
  const auto found = tasks_.find(KeyOf(handle));
  if (found == tasks_.end()) return std::nullopt;
  const bool started = found->second.shown.state != State::kQueued;
  found->second.shown.state = State::kDraining;
  return started;
}

Status SlurmLedger::Drain(WorkerId worker) {
  if (Task* task = Find(worker)) {
    task->shown.state = State::kDraining;
    return Status::Ok();
  }
  for (auto& [handle, claim] : claims_) {
    if (claim.worker != worker) continue;
    claim.draining = true;
    return Status::Ok();
  }
  return NotFound("worker " + std::to_string(worker.value) + " is not in the slurm pool");
}

void SlurmLedger::Registered(const wire::WorkerInfo& info, SteadyTime now) {
  if (!IsSlurmHandle(info.member)) return;
  const auto found = tasks_.find(KeyOf(info.member));
  if (found == tasks_.end()) {
    // The word of a coordinator's journal, or it was faster than sbatch's answer.
    if (claims_.size() < kMostClaims)
      claims_.try_emplace(info.member, Claim{info.worker, listings_});
    return;
  }
  Task& task = found->second;
  // Who was first keeps the place: a handle is only a worker's word.
  if (task.shown.worker.valid() && task.shown.worker != info.worker) return;
  task.shown.worker = info.worker;
  if (!task.registered) task.registered = now;
  if (task.shown.state != State::kDraining) task.shown.state = State::kRunning;
}

void SlurmLedger::Leaving(WorkerId worker) {
  if (Task* task = Find(worker)) task->shown.state = State::kDraining;
}

void SlurmLedger::Lost(WorkerId worker) {
  Task* task = Find(worker);
  if (task != nullptr && task->shown.state == State::kRunning) task->shown.state = State::kLost;
}

void SlurmLedger::Left(WorkerId worker) {
  std::erase_if(claims_, [&](const auto& each) { return each.second.worker == worker; });
  Task* task = Find(worker);
  if (task == nullptr) return;
  task->shown.worker = WorkerId();
  task->shown.state = State::kDraining;
}

SlurmLedger::Task* SlurmLedger::Find(WorkerId worker) {
  const auto found = std::ranges::find_if(tasks_, [&](const auto& each) {
    return worker.valid() && each.second.shown.worker == worker;
  });
  return found == tasks_.end() ? nullptr : &found->second;
}

SlurmLedger::Task& SlurmLedger::Add(const std::string& handle) {
  const auto [at, made] = tasks_.try_emplace(KeyOf(handle));
  Task& task = at->second;
  if (!made) return task;
  task.shown.state = State::kQueued;
  task.shown.handle = handle;
  task.shown.starts = 1;
  task.listings = listings_;
  const auto claim = claims_.find(handle);
  if (claim == claims_.end()) return task;
  task.shown.worker = claim->second.worker;
  task.shown.state = claim->second.draining ? State::kDraining : State::kRunning;
  task.proven = true;
  claims_.erase(claim);
  return task;
}

void SlurmLedger::See(Task& task, const SlurmRow& row) {
  PoolMember& shown = task.shown;
  shown.note = row.node.empty() ? row.reason : row.handle + " on " + row.node;
  const bool waits = PhaseOf(row.state) == SlurmPhase::kQueued;
  shown.why = waits ? WhyQueued(row.reason) : Detail::kNone;
  switch (PhaseOf(row.state)) {
    case SlurmPhase::kRunning:
      if (shown.state == State::kQueued) shown.state = State::kStarting;
      break;
    case SlurmPhase::kEnding:
      shown.state = State::kDraining;
      break;
    case SlurmPhase::kQueued:
    case SlurmPhase::kEnded:
      break;
  }
}

// A member that was told to end has done so. Any other is of interest, and one that was of no use is
// a failure.
void SlurmLedger::Finish(const Task& task, const std::string& how, SteadyTime now,
                         Outcome& outcome) const {
  if (task.shown.worker.valid()) outcome.ended.push_back(task.shown.worker);
  if (task.shown.state == State::kDraining || task.proven) return;
  if (task.registered && now - *task.registered >= kUseful) return;
  const std::string place = task.shown.note.empty() ? task.shown.handle : task.shown.note;
  outcome.failed.emplace_back(1, Unavailable("Slurm's job " + place + " ended" +
                                             (task.registered ? " soon after it had registered: "
                                                              : " before it registered: ") +
                                             how)
                                     .WithDetail(Detail::kWorkersFail));
}

}  // namespace headrace::coordinator
