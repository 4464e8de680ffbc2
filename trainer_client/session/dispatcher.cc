// This file is long because it makes one decision, which batch goes where, from all that happens to it.
#include "trainer_client/session/dispatcher.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "trainer_client/include/headrace/client.h"
#include "trainer_client/session/lane_states.h"

namespace headrace::client {
namespace {

constexpr std::int64_t kRemoved = INT64_MIN;  // the ticket of an attempt at a removed batch
constexpr std::int32_t kMostLosses = 2;
constexpr std::size_t kLatencies = 64;
constexpr std::size_t kLeastLatencies = 4;
// Before anything was measured: the first batches wait for cold files and start-up.
constexpr Duration kColdHedge = std::chrono::seconds(2);
constexpr int kColdDeadlines = 5;
constexpr std::int64_t kKeysOfADeadline = 64;

}  // namespace

Dispatcher::Options Dispatcher::Options::For(const Plan& plan, Making making, Duration resend_floor,
                                             Duration deadline) {
  Options options;
  options.resend_floor = resend_floor;
  options.hedge = making == Making::kFreely;
  options.resend_elsewhere = making == Making::kFreely;
  if (!plan.has_python_stage) {
    options.most_losses = kMostLosses;
    options.deadline = deadline;
  }
  options.lanes_in_order = HasPythonLanes(plan) || making == Making::kInOrder;
  // The state that lanes keep cannot travel: another worker must run them from their beginning.
  options.lanes_stay = plan.has_python_stage && plan.python.replayed;
  return options;
}

std::vector<std::uint32_t> Dispatcher::SetWorker(WorkerId worker, WorkerState state) {
  std::vector<std::uint32_t> ended;
  const auto at = workers_.find(worker);
  if (at == workers_.end() && state == WorkerState::kGone) return ended;
  Worker& entry = workers_[worker];
  entry.state = state;
  if (state == WorkerState::kSuspected || state == WorkerState::kGone) {
    for (auto it = attempts_.begin(); it != attempts_.end();) {
      Attempt& attempt = it->second;
      if (attempt.worker != worker) {
        ++it;
        continue;
      }
      if (attempt.live) {
        EndLive(attempt);
        Requeue(attempt.ticket);
      }
      if (state == WorkerState::kGone) {
        ended.push_back(it->first);
        CountLoss(attempt);
        it = attempts_.erase(it);
      } else {
        ++it;
      }
    }
  }
  if (state == WorkerState::kGone) workers_.erase(worker);
  ready_ = static_cast<std::size_t>(std::ranges::count_if(
      workers_, [](const auto& w) { return w.second.state == WorkerState::kReady; }));
  return ended;
}

void Dispatcher::Add(std::int64_t ticket, std::uint64_t bytes, std::span<const std::int64_t> keys,
                     std::int32_t lane) {
  Batch& batch = batches_[ticket];
  batch.bytes = bytes;
  batch.keys = keys;
  batch.lane = lane;
  queue_.insert(ticket);
}

void Dispatcher::Enlarge(std::int64_t ticket, std::uint64_t bytes) {
  const auto at = batches_.find(ticket);
  if (at != batches_.end()) at->second.bytes = std::max(at->second.bytes, bytes);
}

void Dispatcher::Done(std::int64_t ticket) {
  const auto at = batches_.find(ticket);
  if (at == batches_.end()) return;
  if (options_.lanes_in_order) TakeIn(ticket, at->second.lane);
  queue_.erase(ticket);
  batches_.erase(at);
}

void Dispatcher::Remove(std::int64_t ticket) {
  Done(ticket);
  // The ticket may be added again with other content: answers to the old one must not count for it.
  for (auto& [id, attempt] : attempts_) {
    if (attempt.ticket == ticket) attempt.ticket = kRemoved;
  }
}

void Dispatcher::RemoveBefore(std::int64_t ticket) {
  while (!batches_.empty() && batches_.begin()->first < ticket) Done(batches_.begin()->first);
}

void Dispatcher::EndLive(Attempt& attempt) {
  attempt.live = false;
  outstanding_bytes_ -= attempt.bytes;
  if (const auto worker = workers_.find(attempt.worker); worker != workers_.end()) {
    worker->second.bytes -= attempt.bytes;
    --worker->second.attempts;
  }
  if (const auto batch = batches_.find(attempt.ticket); batch != batches_.end()) {
    --batch->second.live;
  }
}

// Another attempt may still bring it.
void Dispatcher::Requeue(std::int64_t ticket) {
  const auto batch = batches_.find(ticket);
  if (batch == batches_.end() || batch->second.live > 0) return;
  if (Spent(batch->second)) {
    Leave(ticket);
  } else {
    queue_.insert(ticket);
  }
}

void Dispatcher::Leave(std::int64_t ticket) {
  const bool lost = std::ssize(batches_.at(ticket).lost_with) >= options_.most_losses;
  Done(ticket);
  (lost ? lost_ : overdue_).push_back(ticket);
}

bool Dispatcher::Spent(const Batch& batch) const {
  return options_.most_losses > 0 &&
         std::ssize(batch.lost_with) + batch.overdue >= options_.most_losses;
}

void Dispatcher::CountLoss(const Attempt& attempt) {
  const auto batch = batches_.find(attempt.ticket);
  if (batch == batches_.end() || attempt.overdue) return;
  batch->second.lost_with.insert(attempt.worker);
  if (batch->second.live == 0) Requeue(attempt.ticket);
}

void Dispatcher::LoseOverdue(SteadyTime now) {
  for (auto& [id, attempt] : attempts_) {
    const auto batch = batches_.find(attempt.ticket);
    if (!attempt.live || batch == batches_.end()) continue;
    const std::optional<Duration> after = OverdueAfter(batch->second);
    if (!after || now - attempt.sent < *after) continue;
    attempt.overdue = true;
    EndLive(attempt);
    ++batch->second.overdue;
    Requeue(attempt.ticket);
  }
}

std::optional<WorkerId> Dispatcher::LaneGoesTo(std::int64_t ticket, const Batch& batch) const {
  if (!options_.lanes_in_order) return WorkerId();
  const auto lane = lane_out_.find(batch.lane);
  if (lane == lane_out_.end()) return WorkerId();
  const std::deque<Out>& out = lane->second;
  const auto place = std::ranges::find(out, ticket, &Out::ticket);
  if (std::none_of(out.begin(), place, [](const Out& before) { return !before.done; })) {
    return WorkerId();
  }
  // What was refused goes out alone: the worker that has those before it may have no room yet.
  if (batch.bytes > IterationOptions::kMostAheadBytes || batch.refusals > 0) return std::nullopt;
  if (place == out.end()) {
    if (std::ssize(out) >= lane_window_) return std::nullopt;
    if (latencies_.empty()) return std::nullopt;  // no batch has come: nobody knows their size
  }
  const WorkerId worker = HasThem({out.begin(), place});
  return worker.valid() ? std::optional(worker) : std::nullopt;
}

WorkerId Dispatcher::HasThem(std::ranges::subrange<std::deque<Out>::const_iterator> before) const {
  WorkerId has_them;
  for (const Out& each : before) {
    if (each.done) continue;
    const auto found = batches_.find(each.ticket);
    if (found == batches_.end() || found->second.live == 0) return {};
    if (has_them.valid() && found->second.last_worker != has_them) return {};
    has_them = found->second.last_worker;
  }
  const auto worker = workers_.find(has_them);
  const bool ready = worker != workers_.end() && worker->second.state == WorkerState::kReady;
  return ready ? has_them : WorkerId();
}

std::int64_t Dispatcher::PutOut(std::int64_t ticket, std::int32_t lane) {
  std::deque<Out>& out = lane_out_[lane];
  const auto place = std::ranges::find(out, ticket, &Out::ticket);
  std::int64_t after = -1;
  for (auto before = out.begin(); before != place; ++before) {
    if (!before->done) after = before->ticket;
  }
  if (place == out.end()) {
    out.push_back({.ticket = ticket});
  } else {
    place->done = false;  // it may have been added again
  }
  return after;
}

void Dispatcher::TakeIn(std::int64_t ticket, std::int32_t lane) {
  const auto found = lane_out_.find(lane);
  if (found == lane_out_.end()) return;
  std::deque<Out>& out = found->second;
  const auto place = std::ranges::find(out, ticket, &Out::ticket);
  if (place != out.end()) place->done = true;
  while (!out.empty() && out.front().done) out.pop_front();
  if (out.empty()) lane_out_.erase(found);
}

bool Dispatcher::MayHave(const Batch& batch, WorkerId id, const Worker& worker) const {
  if (worker.state != WorkerState::kReady) return false;
  return options_.most_losses == 0 || batch.lost_with.empty() || !HasLost(id, batch);
}

bool Dispatcher::Beside(const Batch& batch, WorkerId id, const Worker& worker) const {
  if (id == batch.last_worker || !MayHave(batch, id, worker)) return false;
  const auto has_it = workers_.find(batch.last_worker);
  return has_it == workers_.end() || !has_it->second.lanes || !worker.lanes;
}

bool Dispatcher::MayHedge(const Batch& head) const {
  return options_.hedge && head.live == 1 && !Spent(head) &&
         std::ranges::any_of(
             workers_, [&](const auto& entry) { return Beside(head, entry.first, entry.second); });
}

// Returns the least busy worker. `beside`: that may be asked beside the one that has the batch.
WorkerId Dispatcher::Choose(const Batch& batch, WorkerId avoid, bool beside) const {
  std::vector<WorkerId> best;
  std::uint64_t least = UINT64_MAX;
  for (const auto& [id, worker] : workers_) {
    if (id == avoid || worker.bytes > least || !MayHave(batch, id, worker)) continue;
    if (beside && !Beside(batch, id, worker)) continue;
    if (worker.bytes < least) best.clear();
    least = worker.bytes;
    best.push_back(id);
  }
  if (best.empty()) return {};
  if (best.size() == 1) return best.front();
  std::vector<std::int64_t> votes(best.size());
  for (const std::int64_t key : batch.keys) {
    std::size_t preferred = 0;
    std::uint64_t highest = 0;
    for (std::size_t i = 0; i < best.size(); ++i) {
      const std::uint64_t score = MixBits(static_cast<std::uint64_t>(key) ^
                                          MixBits(static_cast<std::uint64_t>(best[i].value)));
      if (score >= highest) {
        highest = score;
        preferred = i;
      }
    }
    ++votes[preferred];
  }
  return best[static_cast<std::size_t>(std::ranges::max_element(votes) - votes.begin())];
}

bool Dispatcher::HasLost(WorkerId worker, const Batch& beside) const {
  return std::ranges::any_of(attempts_, [&](const auto& entry) {
    if (!entry.second.live || entry.second.worker != worker) return false;
    const auto batch = batches_.find(entry.second.ticket);
    return batch != batches_.end() && &batch->second != &beside && !batch->second.lost_with.empty();
  });
}

// Returns the worker where the batch's lane stays; invalid: no such worker is ready and did not
// refuse.
WorkerId Dispatcher::Home(const Batch& batch) const {
  const auto home = lane_home_.find(batch.lane);
  if (home == lane_home_.end()) return {};
  if (batch.refusals > 0 && batch.last_worker == home->second) return {};
  const auto worker = workers_.find(home->second);
  const bool ready = worker != workers_.end() && worker->second.state == WorkerState::kReady;
  return ready ? home->second : WorkerId();
}

// Returns the worker to ask again for a batch whose answer is overdue.
WorkerId Dispatcher::ChooseAgain(const Batch& batch) const {
  if (!options_.resend_elsewhere) {
    return workers_.contains(batch.last_worker) ? batch.last_worker : WorkerId();
  }
  const WorkerId worker = Choose(batch, batch.last_worker, true);
  return worker.valid() ? worker : Choose(batch, WorkerId());
}

// Whether ChooseAgain finds one.
bool Dispatcher::MayAskAgain(const Batch& batch) const {
  if (!options_.resend_elsewhere) return workers_.contains(batch.last_worker);
  return std::ranges::any_of(
      workers_, [&](const auto& entry) { return MayHave(batch, entry.first, entry.second); });
}

Dispatcher::Send Dispatcher::Start(std::int64_t ticket, Batch& batch, WorkerId worker,
                                   SteadyTime now, bool hedge) {
  const std::uint32_t id = next_attempt_++;
  attempts_.emplace(id, Attempt{.ticket = ticket,
                                .worker = worker,
                                .sent = now,
                                .bytes = batch.bytes,
                                .live = true,
                                .hedge = hedge,
                                .overdue = false,
                                .last_sent = batch.last_sent,
                                .last_worker = batch.last_worker});
  workers_.at(worker).bytes += batch.bytes;
  ++workers_.at(worker).attempts;
  outstanding_bytes_ += batch.bytes;
  if (hedge) {
    ++hedged_;
  } else if (batch.sends > 0) {
    ++rerequested_;
  }
  ++batch.live;
  ++batch.sends;
  batch.last_sent = now;
  batch.last_worker = worker;
  const std::int64_t after = options_.lanes_in_order ? PutOut(ticket, batch.lane) : -1;
  if (options_.lanes_stay) lane_home_[batch.lane] = worker;
  return {ticket, worker, id, batch.bytes, hedge, after};
}

std::vector<Dispatcher::Send> Dispatcher::Poll(SteadyTime now) {
  std::vector<Send> sends;
  if (ready_ == 0) return sends;
  LoseOverdue(now);
  std::set<std::int32_t> waiting;  // lanes_in_order: no later batch of these may pass
  for (auto it = queue_.begin(); it != queue_.end();) {
    Batch& batch = batches_.at(*it);
    const bool waits = options_.lanes_in_order && waiting.contains(batch.lane);
    const std::optional<WorkerId> follows = waits ? std::nullopt : LaneGoesTo(*it, batch);
    if (!follows) {
      waiting.insert(batch.lane);
      ++it;
      continue;
    }
    // Chooses another worker than the one that refused it or is late, if there is another.
    WorkerId worker = follows->valid() ? *follows : Home(batch);
    if (!worker.valid()) {
      const bool elsewhere = batch.refusals > 0 || batch.overdue > 0;
      worker = Choose(batch, elsewhere ? batch.last_worker : WorkerId());
    }
    if (!worker.valid()) worker = Choose(batch, WorkerId());
    if (!worker.valid()) {  // the ready ones have a lost batch already
      waiting.insert(batch.lane);
      ++it;
      continue;
    }
    sends.push_back(Start(*it, batch, worker, now, false));
    it = queue_.erase(it);
  }
  if (batches_.empty()) return sends;
  auto& [ticket, head] = *batches_.begin();
  if (MayHedge(head) && now - head.last_sent >= HedgeAfter()) {
    sends.push_back(Start(ticket, head, Choose(head, head.last_worker, true), now, true));
  }
  const Duration resend = ResendAfter();
  std::vector<std::int64_t> left;  // no other worker is asked for these
  for (auto& [id, batch] : batches_) {
    if (batch.live == 0 || now - batch.last_sent < resend) continue;
    if (Spent(batch)) {
      left.push_back(id);
      continue;
    }
    const WorkerId worker = ChooseAgain(batch);
    if (worker.valid()) sends.push_back(Start(id, batch, worker, now, false));
  }
  for (const std::int64_t id : left) Leave(id);
  return sends;
}

void Dispatcher::Unsent(std::uint32_t attempt) {
  const auto at = attempts_.find(attempt);
  if (at == attempts_.end()) return;
  if (at->second.live) EndLive(at->second);
  const Attempt unsent = at->second;
  attempts_.erase(at);
  const auto found = batches_.find(unsent.ticket);
  if (found == batches_.end()) return;
  Batch& batch = found->second;
  --batch.sends;
  if (unsent.hedge) {
    --hedged_;
  } else if (batch.sends > 0) {
    --rerequested_;
  }
  batch.last_sent = unsent.last_sent;
  batch.last_worker = unsent.last_worker;
  Requeue(unsent.ticket);
}

Dispatcher::Verdict Dispatcher::OnAnswer(WorkerId worker, std::uint32_t attempt_id, Answer answer,
                                         std::uint64_t needed_bytes, SteadyTime now) {
  const auto at = attempts_.find(attempt_id);
  if (at == attempts_.end() || at->second.worker != worker) return Verdict::kUnknown;
  if (at->second.live) EndLive(at->second);
  const Attempt attempt = at->second;
  attempts_.erase(at);
  const auto found = batches_.find(attempt.ticket);
  if (found == batches_.end()) {
    // So the next batches have the time that they take.
    if (answer == Answer::kMade && attempt.overdue) Measure(attempt, now);
    return Verdict::kDrop;
  }
  Batch& batch = found->second;
  switch (answer) {
    case Answer::kMade: {
      Measure(attempt, now);
      CountPaces(attempt);
      Done(attempt.ticket);
      return Verdict::kTake;
    }
    case Answer::kFailed:
      Done(attempt.ticket);
      return Verdict::kGiveUp;
    case Answer::kTooSmall:
      if (needed_bytes <= attempt.bytes) {  // asks for less than it had: a broken worker
        ++batch.refusals;
      } else {
        batch.bytes = std::max(batch.bytes, needed_bytes);
        if (batch.sends > 0) --batch.sends;  // no fault: does not count as asked again
      }
      break;
    case Answer::kRefused:
      ++batch.refusals;
      break;
    case Answer::kLost:
      Requeue(attempt.ticket);
      CountLoss(attempt);
      return Verdict::kRetry;
    case Answer::kNoSession:
    case Answer::kCancelled:
      break;
  }
  if (batch.refusals >= options_.most_refusals) {
    Done(attempt.ticket);
    return Verdict::kGiveUp;
  }
  Requeue(attempt.ticket);
  return Verdict::kRetry;
}

void Dispatcher::CountPaces(const Attempt& first) {
  ++paces_[first.worker].made;
  for (const auto& [id, attempt] : attempts_) {
    if (attempt.ticket == first.ticket && attempt.sent < first.sent) ++paces_[attempt.worker].late;
  }
}

bool Dispatcher::Outstanding(WorkerId worker) const {
  const auto at = workers_.find(worker);
  return at != workers_.end() && at->second.attempts > 0;
}

void Dispatcher::Measure(const Attempt& attempt, SteadyTime now) {
  if (attempt.sent < still_until_) return;
  const Duration latency = now - attempt.sent;
  if (latencies_.size() < kLatencies) {
    latencies_.push_back(latency);
  } else {
    latencies_[latency_at_++ % kLatencies] = latency;
  }
  std::vector<Duration> sorted = latencies_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  median_ = *middle;
}

Duration Dispatcher::HedgeAfter() const {
  if (latencies_.size() < kLeastLatencies) return kColdHedge;
  return std::max(options_.hedge_floor, options_.hedge_medians * median_);
}

Duration Dispatcher::ResendAfter() const {
  if (latencies_.empty()) return options_.resend_floor;
  return std::max(options_.resend_floor, options_.resend_medians * median_);
}

std::optional<Duration> Dispatcher::OverdueAfter(const Batch& batch) const {
  if (options_.deadline <= Duration::zero()) return std::nullopt;
  const std::int64_t parts = 1 + std::ssize(batch.keys) / kKeysOfADeadline;
  const Duration deadline = parts * options_.deadline;
  if (latencies_.empty()) return kColdDeadlines * deadline;
  return std::max(deadline, options_.deadline_medians * median_);
}

std::optional<SteadyTime> Dispatcher::NextDeadline() const {
  if (batches_.empty() || ready_ == 0) return std::nullopt;
  std::optional<SteadyTime> deadline;
  const Batch& head = batches_.begin()->second;
  if (MayHedge(head)) {
    deadline = head.last_sent + HedgeAfter();
  }
  const Duration resend = ResendAfter();
  for (const auto& [ticket, batch] : batches_) {
    if (batch.live == 0 || (!Spent(batch) && !MayAskAgain(batch))) continue;
    const SteadyTime at = batch.last_sent + resend;
    if (!deadline || at < *deadline) deadline = at;
  }
  for (const auto& [id, attempt] : attempts_) {
    const auto batch = batches_.find(attempt.ticket);
    if (!attempt.live || batch == batches_.end()) continue;
    if (const std::optional<Duration> after = OverdueAfter(batch->second)) {
      deadline = std::min(deadline.value_or(SteadyTime::max()), attempt.sent + *after);
    }
  }
  return deadline;
}

}  // namespace headrace::client
