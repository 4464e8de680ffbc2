#pragma once

#include <string>

#include "coordinator/scaling/job_meter.h"

// What the network keeps a trainer from, for people. Pure.
namespace headrace::coordinator {

// What a job may have of the network.
struct NetworkOffer {
  NetworkShare share;
  bool own_link =
      false;  // its own host's link is the narrow one; otherwise those of the workers are
};

// Most samples/s that arrive, with own cores' work; kUnlimited if the trainer takes hardly more.
[[nodiscard]] double NetworkBound(const Terms& terms, double hit, const NetworkOffer& offer);

// "the network binds: the link of its host leaves it 125 MB/s, at 602 kB a sample 208 of the 400 samples/s
// that it could take". Where no link is known, what crosses it is said, if that is most of the waiting.
// Empty: it does not bind.
[[nodiscard]] std::string NetworkText(const JobMeter& meter, const NetworkOffer& offer);

}  // namespace headrace::coordinator
