#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/process/stats.h"
#include "dataworker/exec/executor.h"
#include "dataworker/share/job_shares.h"
#include "dataworker/share/work.h"

namespace headrace::dataworker {

// What waits for the compute threads. Whose turn it is, JobShares says: fair between jobs and
// between the sessions of a job. Within a session, first come first served. No thread ever waits
// for a job that a source limit holds back. Thread-safe. Its callers bound what they push; the
// executor must be stopped before the queue goes.
//
// A unit costs its CPU time; one that waited, for a disk say, the time that it held its thread,
// which nobody else could use. Time in which the system ran something else is nobody's.
class WorkQueue {
 public:
  struct Parts {
    Executor& executor;
    Clock& clock;
    // Asks for a call of Wake so much later; any thread. Asked again, the earlier one counts.
    std::function<void(Duration)> wake_after;
    // Most units that a task of the executor runs; other tasks wait for as long.
    int units_a_task = 16;
    std::function<ThreadUsage()> usage = UsageOfThisThread;
  };
  explicit WorkQueue(Parts parts) : parts_(std::move(parts)) {}

  enum class Place { kBack, kFront };
  // REQUIRES: work->units() > 0.
  void Push(JobId job, SessionId session, std::shared_ptr<Work> work, Place place = Place::kBack);
  // Cancels and takes out what `which` accepts (called under the lock; must only look). Units that
  // already run go on; the others are dropped before this returns.
  void Cancel(SessionId session, const std::function<bool(const Work&)>& which);
  // As Cancel of everything; the session will not come back.
  void Forget(SessionId session);
  // Units that have not begun.
  [[nodiscard]] std::int64_t queued() const { return queued_.load(std::memory_order_relaxed); }

  // From now on. Jobs have JobLimits() unless told.
  void SetLimits(JobId job, const JobLimits& limits);
  // The job's lease has ended: it keeps its weight for kDrainFor, for what it was asked before, and
  // then has kLeastMillicores. Until the next SetLimits. Again: changes nothing.
  void Drain(JobId job);
  // For the sources of all jobs together; 0: no limit.
  void SetSourceLimit(std::uint64_t bytes_per_second);
  // The job used so much elsewhere, in its stage processes: CPU time, and bytes of its sources.
  void Charge(JobId job, Duration cpu, std::uint64_t source_bytes);
  // Whether a source limit lets batches of the job begin elsewhere. Asked again and again while
  // some wait: that time counts as held back.
  [[nodiscard]] bool MayRead(JobId job);
  // The job's weight now.
  [[nodiscard]] std::uint32_t Millicores(JobId job) const;

  // Every job that was ever named, by id, until it is forgotten.
  [[nodiscard]] std::vector<JobWork> Usage();
  // Forgets what the job has used, and its limits, unless it has sessions here.
  void ForgetJob(JobId job);

  // Something that was held back may begin.
  void Wake();

  // How long a job keeps its weight when its lease has ended: see Drain.
  static constexpr Duration kDrainFor = std::chrono::seconds(10);

 private:
  struct Item {
    std::shared_ptr<Work> work;
    std::int64_t next = 0;  // unit
  };
  struct Session : JobShares::Session {
    SessionId id;
    std::deque<Item> items;
    bool forgotten = false;  // goes when nothing of it runs
  };
  // Units that were picked, to run one after the other: one, or as many as are over at once.
  struct Turn {
    std::shared_ptr<Work> work;
    std::int64_t unit = 0;  // the first
    std::int64_t units = 0;
    Session* session = nullptr;
    JobShares::Charged charged;
  };
  // What is to be done without the lock.
  struct Todo {
    int runners = 0;                  // tasks to submit
    Duration wake = Duration::max();  // to be asked for
  };

  void Run(ThreadContext& context);
  void Do(const Todo& todo);
  // Guarded by mutex_ from here on.
  [[nodiscard]] std::int64_t UnitsAtOnce(const Session& session) const;
  std::vector<Item> TakeOut(Session& session, const std::function<bool(const Work&)>& which);
  void EraseWhenOver(Session& session);
  bool Pick(Turn& turn, SteadyTime now);
  // Who is needed for `units` more, or the wake-up when none may begin.
  Todo Next(std::int64_t units, SteadyTime now);

  const Parts parts_;
  std::atomic<std::int64_t> queued_ = 0;
  mutable std::mutex mutex_;
  JobShares shares_;
  std::map<SessionId, Session> sessions_;
  int runners_ = 0;                         // tasks of the executor that pick units
  SteadyTime wake_at_ = SteadyTime::max();  // that was asked for
};

}  // namespace headrace::dataworker
