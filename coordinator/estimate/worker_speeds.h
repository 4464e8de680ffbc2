#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

// How fast the cores of each worker are beside those of others, learned from what the same job's samples cost on
// each. Where a job's samples take 2 ms of CPU time on one worker and 4 ms on another, the other's core is half of
// one. Cores are counted in *mean cores* then: a policy divides these, and a worker's lease is in its own.
namespace headrace::coordinator {

// What a worker spent on one job between two of its reports.
struct CostReport {
  double cpu_s = 0;
  double hits = 0, misses = 0;  // samples; a hit counts as `hit_worth` of a miss
  double hit_worth = 0.1;       // 0 to 1
};

// Speeds are known between all workers that share jobs with one another, directly or over others. Nothing tells of
// the rest: they are 1. Thread-compatible; a value.
class WorkerSpeeds {
 public:
  // Seconds after which a report counts half. Reports of a job are compared that came at about the same time, for
  // its samples may become dearer.
  static constexpr double kHalfLifeS = 300;
  // CPU seconds at speed 1 that each worker is taken to have shown: at first, and always. The second keeps the mean
  // of workers that share jobs near 1. It is little, since it also pulls those together that share few.
  static constexpr double kFirstS = 30, kAlwaysS = 0.2;
  // What is used changes when the speed that was learned is farther away than this, relative: it would move leases
  // with each report else.
  static constexpr double kStep = 0.03;
  static constexpr double kLeast = 0.1, kMost = 10;

  // A report that is not positive and finite changes nothing.
  void Report(WorkerId worker, JobId job, const CostReport& report);
  // Learns from what was reported; `seconds` since it was called last. The speeds are those for which a job's
  // samples cost the same everywhere, as far as there are any: costs by speeds and speeds by costs, in turn, from
  // where the last call ended.
  void Learn(double seconds);
  void Forget(WorkerId worker) { workers_.erase(worker); }
  void Forget(JobId job);

  // As learned, kLeast to kMost; 1: nothing is known.
  [[nodiscard]] double Learned(WorkerId worker) const;
  // To be used; 1: nothing is known, or it is a mean core nearly.
  [[nodiscard]] double Of(WorkerId worker) const;

 private:
  static constexpr int kTurns = 4;
  struct Evidence {
    JobId job;
    double cpu_s = 0, samples = 0;  // decayed
  };
  struct Worker {
    std::vector<Evidence> of_jobs;
    double prior_s = kFirstS;  // decays to kAlwaysS
    double learned = 1, used = 1;
  };
  std::map<WorkerId, Worker> workers_;
};

}  // namespace headrace::coordinator
