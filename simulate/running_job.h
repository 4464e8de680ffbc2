#pragma once

#include <cstdint>

#include "coordinator/scaling/controller.h"
#include "simulate/cache_model.h"
#include "simulate/cluster.h"
#include "simulate/job.h"
#include "simulate/outcome.h"
#include "simulate/random.h"
#include "simulate/start.h"

// One job in the engine, from its arrival to its end.
namespace headrace::simulate {

// Seconds. Events closer than this are one event: the clock has no finer steps after weeks.
constexpr double kInstant = 1e-6;

enum class Stage : std::uint8_t { kWaiting, kRunning, kDone };

// Thread-compatible.
class RunningJob {
 public:
  // `position`: in the trace. `dataset_bytes`: size of its data set; 0 without one. `job` must
  // outlive this object.
  RunningJob(const Job& job, std::size_t position, const Cluster& cluster, double dataset_bytes);

  [[nodiscard]] const Job& job() const { return *job_; }
  [[nodiscard]] bool pinned() const { return !job_->separable; }
  // Cores that the job holds on its own host because its input cannot leave it; 0 for other jobs.
  [[nodiscard]] double pinned_cores() const { return pinned_cores_; }
  // What is true now. Pinned cores are folded in: a pinned job appears as one that needs no cores.
  [[nodiscard]] const coordinator::Terms& terms() const { return terms_; }
  // GPUs that do not wait for data.
  [[nodiscard]] double useful_gpus() const { return job_->gpus * rate / full_rate_; }
  // Cores that compute.
  [[nodiscard]] double busy_cores() const;

  // Goes on from there, with what the cache holds now.
  void Resume(const JobStart& from, const CacheModel& cache, CacheMode mode);
  [[nodiscard]] JobStart Stop() const;
  // Samples so far.
  [[nodiscard]] double received() const {
    return endless() ? endless_done_ : job_->samples() - remaining;
  }
  // Nobody knows how many samples it will take.
  [[nodiscard]] bool endless() const { return remaining == coordinator::kUnlimited; }

  // Sets the samples/s that follow from what is granted.
  void SetRate() {
    rate = restores() ? 0 : coordinator::Throughput(terms_, cores, hit, source_rate, network);
  }
  // It has GPUs again after a stop, and makes no steps for so many seconds.
  void BeginRestart(double seconds) { restart_left_s_ = seconds; }
  [[nodiscard]] bool restores() const { return restart_left_s_ > 0; }
  // Bytes/s from other hosts.
  [[nodiscard]] double network_rate() const {
    return coordinator::NetworkRateFor(terms_, rate, hit, network.own_cores);
  }
  // Seconds, at the present rate, until it is done or its ramp steps.
  [[nodiscard]] double NextEvent() const;
  // Moves on by `dt` seconds at the present rate.
  void Advance(double dt);
  // Takes the steps of the ramp that are due, and the end of a restart. True: there was one.
  bool StepPhase();
  [[nodiscard]] bool done() const { return remaining <= 0; }
  void Finish(double now);

  // Ends one control period, measured with errors (EngineOptions::noise). True: the demand moved.
  bool Observe(double period_s, double noise, Random& random);
  // What the scheduler sees: the controller's demand once something was measured. Before that, and
  // without controllers, it is what a profile says.
  [[nodiscard]] coordinator::Terms Told(bool by_controller) const;

  Stage stage = Stage::kWaiting;
  double remaining = 0;  // samples
  double cores = 0;
  double source_rate = 0;
  double hit = 0;
  coordinator::NetworkShare network;
  double rate = 0;       // samples/s
  Reading reading;       // for a job with a data set
  int periods_left = 0;  // to observe before it counts as settled
  JobOutcome outcome;

 private:
  void SetTerms(double factor);

  const Job* job_;
  double fair_cores_;
  double pinned_cores_ = 0;
  double fair_rate_ = 0;
  double full_rate_ = 0;  // rate of the trainer alone
  coordinator::Terms terms_;
  std::size_t next_ramp_ = 0;
  double restart_left_s_ = 0;
  double endless_done_ = 0;  // samples, of an endless job
  bool restarted_ = false;   // a restart has ended, and StepPhase has not said so yet
  coordinator::Controller controller_;
};

}  // namespace headrace::simulate
