#include "dataworker/share/work_queue.h"

#include <algorithm>
#include <iterator>

#include "dataworker/source/core/source_bytes.h"

namespace headrace::dataworker {
namespace {

// A task of the executor ends after the unit that takes it beyond this, so that other tasks run.
constexpr Duration kLongTask = std::chrono::milliseconds(2);
// The queue picks several units at once if they end sooner than this: the choice must not cost more
// than the work.
constexpr double kQuantum = 100e3;  // ns

// Where work goes that has an order: not past what has none. `at_back`: from there; else from the front.
template <typename Items>
auto PlaceOf(Items& items, std::int64_t order, bool at_back) {
  if (order < 0) return at_back ? items.end() : items.begin();
  if (at_back) {
    auto at = items.end();
    while (at != items.begin() && std::prev(at)->work->order() > order) --at;
    return at;
  }
  const auto first = [order](const auto& item) {
    return item.work->order() >= 0 && item.work->order() <= order;
  };
  return std::ranges::find_if_not(items, first);
}

bool Everything(const Work& /*work*/) { return true; }

// The time of what ran between the two, in nanoseconds.
double CostOf(const ThreadUsage& before, const ThreadUsage& after, Duration held) {
  const auto cpu = static_cast<double>(after.cpu_ns - before.cpu_ns);
  return after.waits == before.waits ? cpu : std::max(cpu, static_cast<double>(held.count()));
}

}  // namespace

void WorkQueue::Push(JobId job_id, SessionId session_id, std::shared_ptr<Work> work, Place place) {
  const std::int64_t units = work->units();
  const bool asks = work->asks_before_reads();
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    const SteadyTime now = parts_.clock.Now();
    Session& session = sessions_[session_id];
    session.id = session_id;
    const std::int64_t order = work->order();
    const auto at = PlaceOf(session.items, order, place == Place::kBack);
    session.items.insert(at, {std::move(work)});
    shares_.Queue(session, job_id, units, asks, now);
    queued_ += units;
    todo = Next(units, now);
  }
  Do(todo);
}

void WorkQueue::Run(ThreadContext& context) {
  SteadyTime begin = parts_.clock.Now();
  const SteadyTime first = begin;
  Turn turn;
  Todo todo;
  bool picked = false;
  {
    const std::lock_guard lock(mutex_);
    --runners_;
    picked = Pick(turn, begin);
    runners_ += picked ? 1 : 0;
    todo = Next(1, begin);
  }
  Do(todo);
  ThreadUsage before = picked ? parts_.usage() : ThreadUsage();
  std::uint64_t counted = before.cpu_ns;
  for (std::int64_t units = 0; picked;) {
    const std::uint64_t read_before = SourceBytesOfThisThread();
    for (std::int64_t i = 0; i < turn.units; ++i) turn.work->RunUnit(turn.unit + i, context);
    units += turn.units;
    const ThreadUsage after = parts_.usage();
    const SteadyTime end = parts_.clock.Now();
    const double cost = CostOf(before, after, end - begin);
    Turn next;
    todo = Todo();
    bool waited = false;
    {
      std::unique_lock lock(mutex_, std::try_to_lock);
      waited = !lock.owns_lock();
      if (waited) lock.lock();
      shares_.Settle(*turn.session, turn.charged, turn.units,
                     {.ns = cost,
                      .cpu_ns = after.cpu_ns - counted,
                      .bytes = SourceBytesOfThisThread() - read_before},
                     end);
      const bool long_task = units >= parts_.units_a_task || end - first >= kLongTask;
      picked = !long_task && Pick(next, end);
      EraseWhenOver(*turn.session);
      if (!picked) {
        --runners_;
        todo = Next(1, end);
      } else if (runners_ < parts_.executor.concurrency()) {
        todo = Next(1, end);
      }
    }
    // After the account of the work, so that a reader that learns of its end finds it there.
    waited = turn.work->Drop(turn.units) || waited || todo.runners > 0;
    Do(todo);
    turn = std::move(next);
    counted = after.cpu_ns;
    // The wait for a lock here does not count for the next unit.
    before = waited && picked ? parts_.usage() : after;
    begin = waited && picked ? parts_.clock.Now() : end;
  }
}

WorkQueue::Todo WorkQueue::Next(std::int64_t units, SteadyTime now) {
  Todo todo;
  if (shares_.First(now) != nullptr) {
    const int free = parts_.executor.concurrency() - runners_;
    todo.runners = static_cast<int>(std::clamp<std::int64_t>(units, 0, std::max(free, 0)));
    runners_ += todo.runners;
    return todo;
  }
  if (queued_.load(std::memory_order_relaxed) == 0) return todo;
  const SteadyTime next = shares_.ReadyAt(now);
  if (next < wake_at_) {
    wake_at_ = next;
    todo.wake = next - now;
  }
  return todo;
}

void WorkQueue::Do(const Todo& todo) {
  for (int i = 0; i < todo.runners; ++i) {
    parts_.executor.Submit([this](ThreadContext& context) { Run(context); });
  }
  if (todo.wake != Duration::max()) parts_.wake_after(todo.wake);
}

void WorkQueue::Wake() {
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    wake_at_ = SteadyTime::max();
    todo = Next(1, parts_.clock.Now());
  }
  Do(todo);
}

std::int64_t WorkQueue::UnitsAtOnce(const Session& session) const {
  const double mean = session.mean();
  if (mean < 0 || shares_.Limited(session)) return 1;
  if (mean * parts_.units_a_task <= kQuantum) return parts_.units_a_task;
  return std::max<std::int64_t>(static_cast<std::int64_t>(kQuantum / mean), 1);
}

bool WorkQueue::Pick(Turn& turn, SteadyTime now) {
  turn.session = static_cast<Session*>(shares_.First(now));
  if (turn.session == nullptr) return false;
  Session& session = *turn.session;
  Item& item = session.items.front();
  const std::int64_t left = item.work->units() - item.next;
  turn.units = std::min(left, UnitsAtOnce(session));
  turn.unit = item.next;
  item.next += turn.units;
  if (turn.units == left) {
    turn.work = std::move(item.work);
    session.items.pop_front();
  } else {
    turn.work = item.work;
  }
  turn.charged = shares_.Start(session, turn.units, now);
  queued_ -= turn.units;
  return true;
}

std::vector<WorkQueue::Item> WorkQueue::TakeOut(Session& session,
                                                const std::function<bool(const Work&)>& which) {
  std::vector<Item> dropped;
  std::deque<Item> kept;
  std::int64_t units = 0;
  for (Item& item : session.items) {
    if (which(*item.work)) {
      item.work->Cancel();
      units += item.work->units() - item.next;
      dropped.push_back(std::move(item));
    } else {
      kept.push_back(std::move(item));
    }
  }
  session.items = std::move(kept);
  queued_ -= units;
  shares_.Unqueue(session, units, parts_.clock.Now());
  return dropped;
}

void WorkQueue::Cancel(SessionId id, const std::function<bool(const Work&)>& which) {
  std::vector<Item> dropped;
  {
    const std::lock_guard lock(mutex_);
    const auto session = sessions_.find(id);
    if (session == sessions_.end()) return;
    dropped = TakeOut(session->second, which);
  }
  for (const Item& item : dropped) item.work->Drop(item.work->units() - item.next);
}

void WorkQueue::Forget(SessionId id) {
  std::vector<Item> dropped;
  {
    const std::lock_guard lock(mutex_);
    const auto session = sessions_.find(id);
    if (session == sessions_.end()) return;
    dropped = TakeOut(session->second, Everything);
    session->second.forgotten = true;
    EraseWhenOver(session->second);
  }
  for (const Item& item : dropped) item.work->Drop(item.work->units() - item.next);
}

void WorkQueue::EraseWhenOver(Session& session) {
  if (!session.forgotten || !session.idle()) return;
  shares_.Leave(session);
  sessions_.erase(session.id);
}

void WorkQueue::SetLimits(JobId job, const JobLimits& limits) {
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    if (limits.source_bytes_per_second > 0) limits_.store(true, std::memory_order_relaxed);
    const SteadyTime now = parts_.clock.Now();
    if (const auto waiting = shares_.SetLimits(job, limits, now)) todo = Next(*waiting, now);
  }
  Do(todo);
}

void WorkQueue::Drain(JobId job) {
  const std::lock_guard lock(mutex_);
  shares_.Drain(job, parts_.clock.Now() + kDrainFor);
}

void WorkQueue::SetSourceLimit(std::uint64_t bytes_per_second) {
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    if (bytes_per_second > 0) limits_.store(true, std::memory_order_relaxed);
    const SteadyTime now = parts_.clock.Now();
    shares_.SetSourceLimit(bytes_per_second, now);
    todo = Next(queued_, now);
  }
  Do(todo);
}

void WorkQueue::Charge(JobId job, Duration cpu, std::uint64_t source_bytes) {
  const std::lock_guard lock(mutex_);
  shares_.Charge(job, cpu, source_bytes, parts_.clock.Now());
}

bool WorkQueue::MayRead(JobId job, Reader who) {
  if (who == Reader::kUnit && !limits_.load(std::memory_order_relaxed)) return true;
  const std::lock_guard lock(mutex_);
  return shares_.MayRead(job, who, parts_.clock.Now());
}

WorkQueue::Taken WorkQueue::TakeAhead(JobId job, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return shares_.TakeAhead(job, static_cast<double>(bytes), parts_.clock.Now());
}

void WorkQueue::SettleAhead(JobId job, double taken, std::uint64_t read, SteadyTime now) {
  const std::lock_guard lock(mutex_);
  shares_.SettleAhead(job, taken, read, now);
}

JobShares::Pace WorkQueue::MayReceive(JobId job, SteadyTime now) {
  const std::lock_guard lock(mutex_);
  return shares_.MayReceive(job, now);
}

std::uint32_t WorkQueue::Millicores(JobId job) const {
  const std::lock_guard lock(mutex_);
  return shares_.Millicores(job, parts_.clock.Now());
}

std::vector<JobWork> WorkQueue::Usage() {
  const std::lock_guard lock(mutex_);
  return shares_.Usage(parts_.clock.Now());
}

void WorkQueue::ForgetJob(JobId job) {
  const std::lock_guard lock(mutex_);
  shares_.Forget(job);
}

}  // namespace headrace::dataworker
