#pragma once

#include <string>
#include <vector>

#include "coordinator/scaling/job_meter.h"
#include "coordinator/scaling/network_advice.h"

namespace headrace::coordinator {

// What more cores would do, by the estimator.
struct Prediction {
  double cores = 0;       // more than are granted; 0: cores do not help
  double wait_share = 0;  // part of the trainer's time, 0..1, with these cores
  // As far as the periods agree; `cores` lies between.
  double least = 0, most = 0;
};
// The least number of whole cores (of tenths below one) that brings the waiting for cores under 2%
// of the trainer's time, or near to `most_rate`, if no more samples/s than that arrive.
// `granted_cores`: in force now.
[[nodiscard]] Prediction PredictCores(const Terms& terms, const TimeShares& times, double hit,
                                      double granted_cores, double most_rate = kUnlimited);

// What caches have, and could have, for the data set of a job. Bytes.
struct CacheOffer {
  double total =
      0;  // all of the data set, in the form that is cached; 0: there is nothing to cache
  double granted = 0;          // the quotas of its jobs
  double free = 0;             // that its workers have, and no job was granted
  std::vector<double> served;  // batches by host, weights; none: one host
  bool own_bound = false;      // the program itself bounds its cache (--cache)
  std::string keeper = {};     // else what keeps it from free bytes, for people; empty: nothing
};
// What a larger cache would do, by the estimator. It helps from the next epoch on.
struct CachePrediction {
  double bytes = 0;       // more than are granted; 0: a cache does not help
  bool free = false;      // its workers have them; otherwise they are to be added
  double hit = 0;         // share of reads then
  double wait_share = 0;  // part of the trainer's time, 0..1, then
};
// With what is granted, once it is full: `bytes` is 0.
[[nodiscard]] CachePrediction PredictFull(const Terms& terms, const TimeShares& times, double hit,
                                          double granted_cores, const CacheOffer& offer);
// The free bytes if they help, else those that hold all of the data set on each host.
[[nodiscard]] CachePrediction PredictCache(const Terms& terms, const TimeShares& times, double hit,
                                           double granted_cores, const CacheOffer& offer);

// Memory that costs as much as a core: what machines have for each one.
constexpr double kBytesPerCore = 4e9;

// The same by the periods of late (JobMeter::recent()), with a range. REQUIRES: they tell something.
[[nodiscard]] Prediction PredictCoresOfLate(const JobMeter& meter, double granted_cores,
                                            double most_rate = kUnlimited);

// One sentence for people: "waits 41%: 30% decode, 8% network, 3% copy; 5 to 6 more cores would cut it
// to 2%". It is about the last periods. Cache and cores are both named where both help. The one that costs less for what it cuts is
// first; a free cache costs nothing. Neither is named beyond what the network carries. Empty when
// nothing is known yet: in the first periods, and in those after its grant has changed.
[[nodiscard]] std::string Advice(const JobMeter& meter, double granted_cores,
                                 const CacheOffer& offer = {}, const NetworkOffer& network = {});

}  // namespace headrace::coordinator
