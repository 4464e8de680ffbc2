#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/process/stats.h"
#include "dataworker/exec/executor.h"
#include "dataworker/share/debt_bucket.h"
#include "dataworker/share/fair_share.h"

namespace headrace::dataworker {

// A request cut into units (samples) that threads may run at the same time. Ends exactly once: when
// every unit has run or was dropped. Kept alive by the queue and by the threads that run it.
class Work : public std::enable_shared_from_this<Work> {
 public:
  // `iteration`: whose end cancels it; invalid for work that only the session's end cancels.
  explicit Work(std::int64_t units, IterationId iteration = {})
      : units_(units), iteration_(iteration), unfinished_(units) {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  [[nodiscard]] std::int64_t units() const { return units_; }
  [[nodiscard]] IterationId iteration() const { return iteration_; }
  // Units that have not begun are skipped from now on. Thread-safe.
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  // For WorkQueue: runs unit `unit`, which Drop counts behind it; `units` that have run, or never
  // will, are over. The last one calls Finish.
  void RunUnit(std::int64_t unit, ThreadContext& context) {
    if (!cancelled()) Run(unit, context);
  }
  // True behind the last one.
  bool Drop(std::int64_t units) {
    if (unfinished_.fetch_sub(units, std::memory_order_acq_rel) != units) return false;
    Finish();
    return true;
  }

 protected:
  virtual void Run(std::int64_t unit, ThreadContext& context) = 0;
  // On the thread of the last unit, or of the one who cancelled; everything the units wrote is
  // visible. Must not block.
  virtual void Finish() = 0;

 private:
  const std::int64_t units_;
  const IterationId iteration_;
  std::atomic<std::int64_t> unfinished_;
  std::atomic<bool> cancelled_ = false;
};

// What a job may use of this worker's threads and sources.
struct JobLimits {
  std::uint32_t millicores = kDefaultMillicores;  // its weight beside other jobs
  std::uint64_t source_bytes_per_second = 0;      // 0: no limit

  static constexpr std::uint32_t kDefaultMillicores = 1000;
  // Of a job whose lease here has ended, and of any: what is asked is answered, however late.
  static constexpr std::uint32_t kLeastMillicores = 10;
  friend bool operator==(const JobLimits&, const JobLimits&) = default;
};

// What a job has used of them.
struct JobWork {
  JobId job;
  std::uint64_t cpu_ns = 0;  // of compute threads
  std::uint64_t source_bytes = 0;
  std::uint64_t limited_ns = 0;  // it had work queued, and a source limit let none begin
  std::int64_t queued = 0;       // units
  bool busy = false;             // units of it are queued or run
};

// What waits for the compute threads. Fair between jobs by what their units cost, each with its
// weight, and in the same way between the sessions of a job (FairShare); first come first served
// within a session. A job in debt to its source limit (DebtBucket) is
// passed over until it has paid: no thread ever waits for it. Thread-safe. Its callers bound what
// they push; the executor must be stopped before the queue goes.
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
  struct Job;
  struct Session : FairShare::Member {
    SessionId id;
    Job* job = nullptr;
    std::deque<Item> items;
    int running = 0;         // units
    bool forgotten = false;  // goes when nothing of it runs
  };
  struct Job : FairShare::Member {
    Job() : Member(JobLimits::kDefaultMillicores) {}
    JobLimits limits;
    FairShare sessions;
    DebtBucket bucket;
    std::int64_t queued = 0;                    // units
    int running = 0;                            // units
    int attached = 0;                           // entries of sessions_
    SteadyTime drained_at = SteadyTime::max();  // drops to the least weight
    double mean_bytes = -1;                     // that a unit reads; below 0: none has run
    bool reads_elsewhere = false;
    SteadyTime refused_at{};          // by MayRead; the epoch: it was not
    SteadyTime held_until{};          // its place in held_; the epoch: none
    Duration own_debt{}, all_debt{};  // of the buckets, when `limited` was last brought up
    SteadyTime debts_at{};
    Duration limited{};
    std::uint64_t cpu_ns = 0;
    std::uint64_t source_bytes = 0;
  };
  // Units that were picked, to run one behind the other: one, or as many as are over at once.
  struct Turn {
    std::shared_ptr<Work> work;
    std::int64_t unit = 0;  // the first
    std::int64_t units = 0;
    Job* job = nullptr;
    Session* session = nullptr;
    double job_charge = 0, session_charge = 0, byte_charge = 0;
  };
  // What is to be done without the lock.
  struct Todo {
    int runners = 0;                  // tasks to submit
    Duration wake = Duration::max();  // to be asked for
  };

  [[nodiscard]] std::int64_t UnitsAtOnce(const Session& session) const;
  void Run(ThreadContext& context);
  void Do(const Todo& todo);
  // Guarded by mutex_ from here on.
  Session& SessionOf(SessionId id, Job& job);
  std::vector<Item> TakeOut(Session& session, const std::function<bool(const Work&)>& which);
  void EraseWhenOver(Session& session);
  void PlaceJob(Job& job, SteadyTime now);
  void CountDebt(Job& job, SteadyTime now);
  void SetWeightOf(Job& job, std::uint32_t millicores);
  [[nodiscard]] bool Paused(SteadyTime now);
  [[nodiscard]] bool AnyReady(SteadyTime now);
  bool Pick(Turn& turn, SteadyTime now);
  void Settle(const Turn& turn, double cost_ns, std::uint64_t bytes, SteadyTime now);
  // Who is needed for `units` more, or the wake-up when none may begin.
  Todo Next(std::int64_t units, SteadyTime now);

  const Parts parts_;
  std::atomic<std::int64_t> queued_ = 0;
  mutable std::mutex mutex_;
  FairShare share_;
  std::map<JobId, Job> jobs_;
  std::map<SessionId, Session> sessions_;
  std::set<std::pair<SteadyTime, Job*>> held_;  // jobs in debt with units queued
  DebtBucket all_;                              // of all jobs
  int runners_ = 0;                             // tasks of the executor that pick units
  SteadyTime wake_at_ = SteadyTime::max();      // that was asked for
};

}  // namespace headrace::dataworker
