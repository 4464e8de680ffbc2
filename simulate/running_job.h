#pragma once

#include <cstdint>

#include "coordinator/scaling/controller.h"
#include "simulate/cache_model.h"
#include "simulate/cluster.h"
#include "simulate/job.h"
#include "simulate/outcome.h"
#include "simulate/random.h"

// One job in the engine, from its arrival to its end.
namespace headrace::simulate {

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

  // Sets the samples/s that follow from what is granted.
  void SetRate() { rate = coordinator::Throughput(terms_, cores, hit, source_rate, network); }
  // Bytes/s from other hosts.
  [[nodiscard]] double network_rate() const {
    return coordinator::NetworkRateFor(terms_, rate, hit, network.own_cores);
  }
  // Seconds, at the present rate, until it is done or its ramp steps.
  [[nodiscard]] double NextEvent() const;
  // Moves on by `dt` seconds at the present rate.
  void Advance(double dt);
  // Takes the steps of the ramp that are due. True: there was one.
  bool StepRamp();
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
  coordinator::Controller controller_;
};

}  // namespace headrace::simulate
