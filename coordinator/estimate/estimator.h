#pragma once

#include <limits>

// How fast a job runs with what it is given, in closed form: SiloD's formula with a CPU term. Every
// policy, the controller, the simulator and the predictions of `headrace jobs` use this one
// estimator (docs/reference/estimator.md).
//
//   rate(w, h, b, l) = min( g,                            the trainer itself
//                           w / (h * hit_cost + (1 - h) * miss_cost),   cores
//                           b / ((1 - h) * miss_bytes),                 the source
//                           own + l / sent_bytes )                      the network
//
//   g  samples/s that the trainer takes when data is always there
//   w  cores           h  share of reads that the cache answers          b  bytes/s of the source
//   l  bytes/s of the network        own  samples/s that the cores of the trainer's own host make
//
// They run in parallel (samples are prefetched), so the slowest sets the rate. All functions
// are pure. Arguments are finite and not negative unless a line says otherwise.
namespace headrace::coordinator {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// The cost of a job's samples and the speed of its trainer, measured while the job runs
// (scaling/job_meter.h).
struct Terms {
  double ready_rate = 0;  // g, samples/s
  double hit_cost = 0;    // core-seconds a sample that comes from the cache
  double miss_cost = 0;   // core-seconds a sample that is read and decoded
  double miss_bytes = 0;  // bytes read from the source for a sample that is not cached
  double sent_bytes = 0;  // bytes of a sample that crosses a network to the trainer; 0: not known
  friend bool operator==(const Terms&, const Terms&) = default;
};

// Core-seconds for each sample if a share `hit` of them, 0..1, comes from the cache.
[[nodiscard]] double CostPerSample(const Terms& terms, double hit);
// Mean bytes of the source for each sample.
[[nodiscard]] double SourceBytesPerSample(const Terms& terms, double hit);

// What a job may have of the network. Batches of workers on the trainer's own host cross none.
struct NetworkShare {
  double rate = kUnlimited;  // bytes/s
  double own_cores = 0;      // that it can have on its own host
  friend bool operator==(const NetworkShare&, const NetworkShare&) = default;
};

// Samples/s with `cores` and `source_rate` bytes/s (either may be kUnlimited).
[[nodiscard]] double Throughput(const Terms& terms, double cores, double hit, double source_rate,
                                const NetworkShare& network = {});

// Most samples/s that own cores make and the network carries; kUnlimited where it does not limit.
[[nodiscard]] double NetworkThroughput(const Terms& terms, double hit, const NetworkShare& network);
// Most cores that are of use: the own ones, and those elsewhere whose samples the network carries.
[[nodiscard]] double CoresOfUse(const Terms& terms, double hit, const NetworkShare& network);
// Bytes/s of the network for `rate` samples/s, if own cores make what they can.
[[nodiscard]] double NetworkRateFor(const Terms& terms, double rate, double hit, double own_cores);

// The inverse: the least cores, and the least bytes/s of the source, for `rate` samples/s.
[[nodiscard]] double CoresFor(const Terms& terms, double rate, double hit);
[[nodiscard]] double SourceRateFor(const Terms& terms, double rate, double hit);

// Share of reads that the cache answers when it holds `cached` of `total` bytes of a data set. The
// data set is read once each epoch in fresh random order.
//   Without eviction (MinIO's rule and ours) it is cached / total.
[[nodiscard]] double UniformHit(double cached, double total);
//   With least-recently-used eviction: x + (1 - x) ln(1 - x), x = cached / total.
[[nodiscard]] double LruHit(double cached, double total);

}  // namespace headrace::coordinator
