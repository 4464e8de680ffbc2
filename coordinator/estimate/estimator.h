#pragma once

#include <limits>

// How fast a job goes with what it is given, in closed form: SiloD's formula with a CPU term. The
// one estimator of every policy, of the controller, of the simulator and of what `headrace jobs`
// predicts (docs/reference/estimator.md).
//
//   rate(w, h, b) = min( g,                            the trainer itself
//                        w / (h * hit_cost + (1 - h) * miss_cost),   cores
//                        b / ((1 - h) * miss_bytes) )                the source
//
//   g  samples/s that the trainer takes when data is always there
//   w  cores           h  share of reads that the cache answers          b  bytes/s of the source
//
// The three run side by side (samples are prefetched), so the slowest decides. All functions are
// pure; arguments are finite and not negative unless a line says otherwise.
namespace headrace::coordinator {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// What a job's samples cost and how fast its trainer is: measured while it runs (meter.h).
struct Terms {
  double ready_rate = 0;  // g, samples/s
  double hit_cost = 0;    // core-seconds a sample that comes from the cache
  double miss_cost = 0;   // core-seconds a sample that is read and decoded
  double miss_bytes = 0;  // bytes read from the source for a sample that is not cached
  friend bool operator==(const Terms&, const Terms&) = default;
};

// Core-seconds a sample when a share `hit` of them, 0..1, comes from the cache.
[[nodiscard]] double CostPerSample(const Terms& terms, double hit);
// Bytes of the source a sample, on average.
[[nodiscard]] double SourceBytesPerSample(const Terms& terms, double hit);

// Samples/s with `cores` and `source_rate` bytes/s (either may be kUnlimited).
[[nodiscard]] double Throughput(const Terms& terms, double cores, double hit, double source_rate);

// The inverse: least cores and bytes/s of the source for `rate` samples/s.
[[nodiscard]] double CoresFor(const Terms& terms, double rate, double hit);
[[nodiscard]] double SourceRateFor(const Terms& terms, double rate, double hit);

// Share of reads that a cache answers which holds `cached` of `total` bytes of a data set that is
// read once an epoch in fresh random order.
//   Without eviction (MinIO's, and ours) it is what is there: cached / total.
[[nodiscard]] double UniformHit(double cached, double total);
//   With least-recently-used eviction: x + (1 - x) ln(1 - x), x = cached / total.
[[nodiscard]] double LruHit(double cached, double total);

}  // namespace headrace::coordinator
