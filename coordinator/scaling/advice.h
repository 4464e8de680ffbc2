#pragma once

#include <string>

#include "coordinator/scaling/job_meter.h"

namespace headrace::coordinator {

// What more cores would do, by the estimator.
struct Prediction {
  double cores = 0;       // more than are granted; 0: cores do not help
  double wait_share = 0;  // part of the trainer's time, 0..1, with these cores
};
// The least number of whole cores (of tenths below one) that brings the waiting for cores under 2%
// of the trainer's time. `granted_cores`: in force now.
[[nodiscard]] Prediction PredictCores(const Terms& terms, const TimeShares& times, double hit,
                                      double granted_cores);

// One sentence for people: "waits 41%: 30% decode, 8% network, 3% copy; 6 more cores would cut it
// to 2%". Empty when nothing is known yet.
[[nodiscard]] std::string Advice(const JobMeter& meter, double granted_cores);

}  // namespace headrace::coordinator
