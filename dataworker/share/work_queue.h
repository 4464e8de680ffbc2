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

// The queue of the compute threads. JobShares decides which session is next: fair between jobs and
// between the sessions of a job. Within a session, first come first served; what waited for a source goes
// on in the order of its batches, since the trainer wants the oldest one first. No thread ever waits
// for a job that a source limit holds back. Thread-safe. Its callers bound what they push. The
// executor must stop before the queue goes.
//
// A unit costs its CPU time. A unit that waited, for a disk say, costs the time that it held its
// thread, which nobody else could use. Nobody pays for time in which the system ran something else.
class WorkQueue {
 public:
  struct Parts {
    Executor& executor;
    Clock& clock;
    // Asks for a call of Wake after this time; any thread. After a second call the earlier time
    // counts.
    std::function<void(Duration)> wake_after;
    // Most units that one task of the executor runs; other tasks wait meanwhile.
    int units_a_task = 16;
    std::function<ThreadUsage()> usage = UsageOfThisThread;
  };
  explicit WorkQueue(Parts parts) : parts_(std::move(parts)) {}

  enum class Place { kBack, kFront };
  // REQUIRES: work->units() > 0.
  void Push(JobId job, SessionId session, std::shared_ptr<Work> work, Place place = Place::kBack);
  // Cancels and removes the work that `which` accepts (called under the lock; must only look).
  // Running units go on; the others are dropped before this returns.
  void Cancel(SessionId session, const std::function<bool(const Work&)>& which);
  // Cancels everything of a session, which will not come back.
  void Forget(SessionId session);
  // The number of units that have not begun.
  [[nodiscard]] std::int64_t queued() const { return queued_.load(std::memory_order_relaxed); }

  // Sets a job's limits. Without this call a job has JobLimits().
  void SetLimits(JobId job, const JobLimits& limits);
  // Notes that the job's lease has ended. The job keeps its weight for kDrainFor, for earlier
  // requests, and then has kLeastMillicores until the next SetLimits. A second call changes
  // nothing.
  void Drain(JobId job);
  // Sets the limit for the sources of all jobs together; 0: no limit.
  void SetSourceLimit(std::uint64_t bytes_per_second);
  // Charges the job for what its stage processes used: CPU time, and bytes of its sources.
  void Charge(JobId job, Duration cpu, std::uint64_t source_bytes);
  // Whether a source limit lets the job read. kStage: lets batches begin in its stage processes. The caller
  // asks repeatedly while some wait. That time counts as held back. kUnit: lets a unit read that asks
  // (Work::Reads::kAsked).
  using Reader = JobShares::Reader;
  [[nodiscard]] bool MayRead(JobId job, Reader who = Reader::kStage);
  // For reads ahead of the units (SourceReads): takes the bytes that a source is about to read for
  // the job from its source limits and from that of all jobs, if neither is in debt. SettleAhead
  // accounts for what was read in the end. The caller asks again at `again`.
  using Taken = JobShares::Taken;
  [[nodiscard]] Taken TakeAhead(JobId job, std::uint64_t bytes);
  void SettleAhead(JobId job, double taken, std::uint64_t read) {
    SettleAhead(job, taken, read, parts_.clock.Now());
  }
  // For what sockets receive (ReadMeter), which is paid for as it comes: when the source limits let
  // bytes come. A refusal counts as for MayRead. SettleAhead with `taken` below 0 pays.
  [[nodiscard]] JobShares::Pace MayReceive(JobId job, SteadyTime now);
  void SettleAhead(JobId job, double taken, std::uint64_t read, SteadyTime now);
  // The job's weight now.
  [[nodiscard]] std::uint32_t Millicores(JobId job) const;

  // Every job that was named, by id, until it is forgotten.
  [[nodiscard]] std::vector<JobWork> Usage();
  // Forgets what the job has used, and its limits, unless it has sessions here.
  void ForgetJob(JobId job);

  // Starts what was held back and may begin now.
  void Wake();

  // How long a job keeps its weight after its lease has ended: see Drain.
  static constexpr Duration kDrainFor = std::chrono::seconds(10);

 private:
  struct Item {
    std::shared_ptr<Work> work;
    std::int64_t next = 0;  // unit
  };
  struct Session : JobShares::Session {
    SessionId id;
    std::deque<Item> items;
    bool forgotten = false;  // removed when nothing of it runs
  };
  // The picked units, which run one after the other: one, or several that end together.
  struct Turn {
    std::shared_ptr<Work> work;
    std::int64_t unit = 0;  // the first
    std::int64_t units = 0;
    Session* session = nullptr;
    JobShares::Charged charged;
  };
  // What to do without the lock.
  struct Todo {
    int runners = 0;                  // tasks to submit
    Duration wake = Duration::max();  // to ask for
  };

  void Run(ThreadContext& context);
  void Do(const Todo& todo);
  // Guarded by mutex_ from here on.
  [[nodiscard]] std::int64_t UnitsAtOnce(const Session& session) const;
  std::vector<Item> TakeOut(Session& session, const std::function<bool(const Work&)>& which);
  void EraseWhenOver(Session& session);
  bool Pick(Turn& turn, SteadyTime now);
  // The runners that `units` more need, or the wake-up if none may begin.
  Todo Next(std::int64_t units, SteadyTime now);

  const Parts parts_;
  std::atomic<std::int64_t> queued_ = 0;
  std::atomic<bool> limits_ = false;  // a limit of a source was ever set
  mutable std::mutex mutex_;
  JobShares shares_;
  std::map<SessionId, Session> sessions_;
  int runners_ = 0;                         // tasks of the executor that pick units
  SteadyTime wake_at_ = SteadyTime::max();  // the one asked for
};

}  // namespace headrace::dataworker
