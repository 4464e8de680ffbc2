#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "dataworker/share/fair_share.h"
#include "dataworker/share/source_budget.h"

namespace headrace::dataworker {

// What a job may use of this worker's threads and sources.
struct JobLimits {
  std::uint32_t millicores = kDefaultMillicores;  // its weight among the jobs
  std::uint64_t source_bytes_per_second = 0;      // 0: no limit

  static constexpr std::uint32_t kDefaultMillicores = 1000;
  // The weight of a job whose lease here has ended, and the least of any job: every request is
  // answered, however late.
  static constexpr std::uint32_t kLeastMillicores = 10;
  friend bool operator==(const JobLimits&, const JobLimits&) = default;
};

// What a job has used of this worker's threads and sources.
struct JobWork {
  JobId job;
  std::uint64_t cpu_ns = 0;  // of compute threads
  std::uint64_t source_bytes = 0;
  std::uint64_t limited_ns = 0;  // time with work queued of which a source limit let none begin
  std::int64_t queued = 0;       // units
  bool busy = false;             // units of it are queued or run
};

// The book of a WorkQueue: what each job may use, has queued and has used, and which job is next.
// It counts units and knows nothing of what they do. It is fair between jobs by the costs of their
// units, each with its weight, and likewise between the sessions of a job (FairShare). It passes
// over a job in debt to its source limit (SourceBudget) until the job has paid, unless its units ask before
// they read.
//
// Pure: the times and the costs come from outside. Thread-compatible; the queue calls it with its
// lock held. O(log jobs + log sessions) a unit.
class JobShares {
  struct Job;

 public:
  // A session's place in the book, at the job that queued for it last. Its address may not change
  // between its first Queue and Leave.
  class Session : public FairShare::Member {
   public:
    // True: nothing of it is queued or runs.
    [[nodiscard]] bool idle() const { return queued_ == 0 && running_ == 0; }

   private:
    friend class JobShares;
    Job* job_ = nullptr;
    std::int64_t queued_ = 0;  // units
    int running_ = 0;          // turns
  };
  // What was noted when units began, for Settle.
  struct Charged {
    Job* job = nullptr;
    double of_job = 0, of_session = 0, bytes = 0;
  };
  // What units used.
  struct Cost {
    double ns = 0;             // of their thread's time, for the share
    std::uint64_t cpu_ns = 0;  // for the account
    std::uint64_t bytes = 0;   // from sources
  };

  // Queues more units of the session for this job. The session leaves the job that it had before.
  // `ask`: Work::asks_before_reads. REQUIRES: units > 0.
  void Queue(Session& session, JobId job, std::int64_t units, bool ask, SteadyTime now);
  // Drops queued units, which will not run. REQUIRES: Queue was called.
  void Unqueue(Session& session, std::int64_t units, SteadyTime now);
  // Removes a session that will not come back. REQUIRES: Queue was called; session.idle().
  void Leave(Session& session);

  // The session that is next; nullptr: no unit may begin now.
  [[nodiscard]] Session* First(SteadyTime now);
  // When to ask again, if nothing may begin and something is queued.
  [[nodiscard]] SteadyTime ReadyAt(SteadyTime now);
  // Whether a source limit holds for the session. Its units must then start one by one.
  [[nodiscard]] bool Limited(const Session& session) const;
  // Starts units of the session together, to run one after the other. REQUIRES: that many are
  // queued.
  [[nodiscard]] Charged Start(Session& session, std::int64_t units, SteadyTime now);
  // Settles units that have ended. `charged`: the value that Start returned.
  void Settle(Session& session, const Charged& charged, std::int64_t units, const Cost& cost,
              SteadyTime now);

  // For these see WorkQueue. SetLimits returns the waiting units of the job if its source limit has
  // changed. They may begin at another time than before.
  [[nodiscard]] std::optional<std::int64_t> SetLimits(JobId job, const JobLimits& limits,
                                                      SteadyTime now);
  void Drain(JobId job, SteadyTime until);
  void SetSourceLimit(std::uint64_t bytes_per_second, SteadyTime now);
  void Charge(JobId job, Duration cpu, std::uint64_t source_bytes, SteadyTime now);
  enum class Reader : std::uint8_t { kStage, kUnit };
  [[nodiscard]] bool MayRead(JobId job, Reader who, SteadyTime now);
  // What was taken for a read ahead, for SettleAhead.
  struct Taken {
    std::optional<SteadyTime> again;  // nothing was taken: when to ask again
    double bytes = 0;                 // 0 without a limit
  };
  [[nodiscard]] Taken TakeAhead(JobId job, double bytes, SteadyTime now);
  void SettleAhead(JobId job, double taken, std::uint64_t read, SteadyTime now);
  // When a socket may receive for the job, and the rate, bytes/s; 0: no limit.
  struct Pace {
    SteadyTime at{};
    std::uint64_t rate = 0;
  };
  [[nodiscard]] Pace MayReceive(JobId job, SteadyTime now);
  [[nodiscard]] std::uint32_t Millicores(JobId job, SteadyTime now) const;
  [[nodiscard]] std::vector<JobWork> Usage(SteadyTime now);
  void Forget(JobId job);

 private:
  struct Job : FairShare::Member {
    Job() : Member(JobLimits::kDefaultMillicores) {}
    JobLimits limits;
    FairShare sessions;
    SourceBudget source;
    std::int64_t queued = 0;                    // units
    int running = 0;                            // turns
    int attached = 0;                           // sessions
    SteadyTime drained_at = SteadyTime::max();  // drops to the least weight
    double mean_bytes = -1;                     // read by a unit; below 0: none has run
    bool reads_unasked = false;                 // has had units that do not ask before they read
    bool reads_elsewhere = false;
    // By MayRead, TakeAhead or MayReceive, and until when; the epoch: it was not.
    SteadyTime refused_at{}, refused_until{};
    SteadyTime held_until{};          // its place in held_; the epoch: none
    Duration own_debt{}, all_debt{};  // of the budgets, when `limited` was last brought up
    SteadyTime debts_at{};
    Duration limited{};
    std::uint64_t cpu_ns = 0;
    std::uint64_t source_bytes = 0;
  };

  [[nodiscard]] Job* FirstJob(SteadyTime now);
  // Puts the job among those that share, those that are held back, or neither.
  void Place(Job& job, SteadyTime now);
  // Updates the time for which the job was held back. Called before what it has queued changes.
  void CountDebt(Job& job, SteadyTime now);
  void SetWeight(Job& job, std::uint32_t millicores);
  // Counts the time for which the job was refused with nothing queued here.
  static void CountRefusal(Job& job, SteadyTime until, SteadyTime now);
  [[nodiscard]] bool Paused(SteadyTime now);

  FairShare share_;
  std::map<JobId, Job> jobs_;
  std::set<std::pair<SteadyTime, Job*>> held_;  // jobs in debt with units queued
  SourceBudget all_;                            // of all jobs
};

}  // namespace headrace::dataworker
