#include "dataworker/share/work_queue.h"

#include <algorithm>

#include "dataworker/source/core/metered_source.h"

namespace headrace::dataworker {
namespace {

// A task of the executor ends behind the unit that takes it beyond this, so that others have turns.
constexpr Duration kLongTask = std::chrono::milliseconds(2);
// Units that are over sooner than this are picked several at once: the choice must not cost more
// than the work.
constexpr double kQuantum = 100e3;  // ns
// Weight of the newest unit in the mean of bytes; below kSomeBytes a job does not read any more.
constexpr double kNewest = 1.0 / 16;
constexpr double kSomeBytes = 1;

bool Everything(const Work& /*work*/) { return true; }

// Of what ran between the two, in nanoseconds.
double CostOf(const ThreadUsage& before, const ThreadUsage& after, Duration held) {
  const auto cpu = static_cast<double>(after.cpu_ns - before.cpu_ns);
  return after.waits == before.waits ? cpu : std::max(cpu, static_cast<double>(held.count()));
}

}  // namespace

void WorkQueue::Push(JobId job_id, SessionId session_id, std::shared_ptr<Work> work, Place place) {
  const std::int64_t units = work->units();
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    const SteadyTime now = parts_.clock.Now();
    Job& job = jobs_[job_id];
    Session& session = SessionOf(session_id, job);
    if (place == Place::kBack) {
      session.items.push_back({std::move(work)});
    } else {
      session.items.push_front({std::move(work)});
    }
    job.sessions.Activate(session);
    CountDebt(job, now);
    job.queued += units;
    queued_ += units;
    PlaceJob(job, now);
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
      Settle(turn, cost, SourceBytesOfThisThread() - read_before, end);
      turn.job->cpu_ns += after.cpu_ns - counted;
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
    // Behind the account of it: who hears that the work is done finds it there.
    waited = turn.work->Drop(turn.units) || waited || todo.runners > 0;
    Do(todo);
    turn = std::move(next);
    counted = after.cpu_ns;
    // What it waited for here, a lock, is not the next unit's.
    before = waited && picked ? parts_.usage() : after;
    begin = waited && picked ? parts_.clock.Now() : end;
  }
}

WorkQueue::Todo WorkQueue::Next(std::int64_t units, SteadyTime now) {
  Todo todo;
  if (AnyReady(now)) {
    const int free = parts_.executor.concurrency() - runners_;
    todo.runners = static_cast<int>(std::clamp<std::int64_t>(units, 0, std::max(free, 0)));
    runners_ += todo.runners;
    return todo;
  }
  if (queued_.load(std::memory_order_relaxed) == 0) return todo;
  SteadyTime next = held_.empty() ? SteadyTime::max() : held_.begin()->first;
  if (share_.First() != nullptr) next = std::min(next, all_.ReadyAt(now));
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

bool WorkQueue::Paused(SteadyTime now) { return all_.limited() && all_.ReadyAt(now) > now; }

bool WorkQueue::AnyReady(SteadyTime now) {
  while (!held_.empty() && held_.begin()->first <= now) PlaceJob(*held_.begin()->second, now);
  return share_.First(!Paused(now)) != nullptr;
}

std::int64_t WorkQueue::UnitsAtOnce(const Session& session) const {
  const double mean = session.mean();
  if (mean < 0 || session.job->bucket.limited() || all_.limited()) return 1;
  if (mean * parts_.units_a_task <= kQuantum) return parts_.units_a_task;
  return std::max<std::int64_t>(static_cast<std::int64_t>(kQuantum / mean), 1);
}

bool WorkQueue::Pick(Turn& turn, SteadyTime now) {
  if (!AnyReady(now)) return false;
  turn.job = static_cast<Job*>(share_.First(!Paused(now)));
  turn.session = static_cast<Session*>(turn.job->sessions.First());
  Job& job = *turn.job;
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
  if (job.drained_at <= now) SetWeightOf(job, JobLimits::kLeastMillicores);
  turn.session_charge = job.sessions.Start(session, static_cast<double>(turn.units));
  turn.job_charge = share_.Start(job, static_cast<double>(turn.units));
  turn.byte_charge = 0;
  if (session.items.empty()) job.sessions.Deactivate(session);
  CountDebt(job, now);
  job.queued -= turn.units;
  queued_ -= turn.units;
  ++job.running;
  ++session.running;
  if (job.bucket.limited() || all_.limited()) {
    turn.byte_charge = std::max(job.mean_bytes, 0.0);
    job.bucket.Take(turn.byte_charge, now);
    all_.Take(turn.byte_charge, now);
    PlaceJob(job, now);
  } else if (job.queued == 0) {
    PlaceJob(job, now);
  }
  return true;
}

void WorkQueue::Settle(const Turn& turn, double cost, std::uint64_t bytes, SteadyTime now) {
  Job& job = *turn.job;
  const auto units = static_cast<double>(turn.units);
  share_.Settle(job, turn.job_charge, cost, units);
  turn.session->job->sessions.Settle(*turn.session, turn.session_charge, cost, units);
  --job.running;
  --turn.session->running;
  const auto read = static_cast<double>(bytes);
  const double each = read / units;
  job.source_bytes += bytes;
  job.mean_bytes = job.mean_bytes < 0 ? each : job.mean_bytes + (each - job.mean_bytes) * kNewest;
  if (!job.bucket.limited() && !all_.limited()) return;
  job.bucket.Take(read - turn.byte_charge, now);
  all_.Take(read - turn.byte_charge, now);
  PlaceJob(job, now);
}

void WorkQueue::PlaceJob(Job& job, SteadyTime now) {
  const SteadyTime ready = job.queued > 0 ? job.bucket.ReadyAt(now) : now;
  if (job.held_until != SteadyTime()) held_.erase({job.held_until, &job});
  job.held_until = SteadyTime();
  if (job.queued == 0) {
    share_.Deactivate(job);
  } else if (ready > now) {
    share_.Deactivate(job);
    job.held_until = ready;
    held_.insert({ready, &job});
  } else {
    // One that reads nothing, all of it cached, is not kept waiting for what others read.
    share_.Activate(
        job, job.mean_bytes >= kSomeBytes ? FairShare::Kind::kPausable : FairShare::Kind::kPlain);
  }
}

void WorkQueue::CountDebt(Job& job, SteadyTime now) {
  if (!job.bucket.limited() && !all_.limited()) return;
  const Duration own = job.bucket.InDebt(now), all = all_.InDebt(now);
  if (job.queued > 0) {
    const Duration others = job.mean_bytes >= kSomeBytes ? all - job.all_debt : Duration(0);
    job.limited += std::min(own - job.own_debt + others, now - job.debts_at);
  }
  job.own_debt = own;
  job.all_debt = all;
  job.debts_at = now;
}

WorkQueue::Session& WorkQueue::SessionOf(SessionId id, Job& job) {
  Session& session = sessions_[id];
  if (session.job == &job) return session;
  if (session.job != nullptr) {  // its trainer knows its job by another id now
    std::int64_t units = 0;
    for (const Item& item : session.items) units += item.work->units() - item.next;
    const SteadyTime now = parts_.clock.Now();
    session.job->sessions.Leave(session);
    session.job->queued -= units;
    --session.job->attached;
    PlaceJob(*session.job, now);
    job.queued += units;
  }
  session.id = id;
  session.job = &job;
  ++job.attached;
  return session;
}

std::vector<WorkQueue::Item> WorkQueue::TakeOut(Session& session,
                                                const std::function<bool(const Work&)>& which) {
  std::vector<Item> dropped;
  std::deque<Item> kept;
  Job& job = *session.job;
  const SteadyTime now = parts_.clock.Now();
  CountDebt(job, now);
  for (Item& item : session.items) {
    if (which(*item.work)) {
      item.work->Cancel();
      job.queued -= item.work->units() - item.next;
      queued_ -= item.work->units() - item.next;
      dropped.push_back(std::move(item));
    } else {
      kept.push_back(std::move(item));
    }
  }
  session.items = std::move(kept);
  if (session.items.empty()) job.sessions.Deactivate(session);
  PlaceJob(job, now);
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
  if (!session.forgotten || session.running > 0 || !session.items.empty()) return;
  session.job->sessions.Deactivate(session);
  --session.job->attached;
  sessions_.erase(session.id);
}

}  // namespace headrace::dataworker
