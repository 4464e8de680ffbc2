#pragma once

#include <span>
#include <vector>

#include "coordinator/estimate/estimator.h"

// What can be hit of a data set that is cached on several hosts.
//
// The workers of one host keep samples together (ADR 0053); hosts do not share. A sample that is cached
// on one host is read again when a batch of another host has it. Shuffled batches take it to each host
// as often as that host makes batches. So a job that has the part s_h of its batches made on host h,
// where c_h of the d bytes of its data set are cached, hits
//
//   h = sum over hosts of  s_h * min(1, c_h / d)
//
// of its reads, once what is cached has been read. The planner, the policies and the simulator all
// count with these functions. All of them are pure.
namespace headrace::coordinator {

// A host of a data set's jobs, or one worker where samples are too small to be shared.
struct CacheHost {
  double served = 1;         // its part of the batches; weights, whatever their sum
  double room = kUnlimited;  // bytes that the data set may take there
  friend bool operator==(const CacheHost&, const CacheHost&) = default;
};

// Share of reads that hit. `cached`: bytes on each host; `served`: the job's batches there, weights.
// Nobody serves: 0. REQUIRES: equal sizes.
[[nodiscard]] double HostsHit(std::span<const double> cached, std::span<const double> served,
                              double total);

// Bytes of a quota for each host. They are in proportion to the batches that are made there, until a
// host has all `total` bytes or no more room; then the others have the rest. What no host can use is
// left out. A small change of `served` moves few bytes.
[[nodiscard]] std::vector<double> DivideOverHosts(double quota, double total,
                                                  std::span<const CacheHost> hosts);

// Most bytes that are of use: no host needs more than `total`.
[[nodiscard]] double UsefulBytes(double total, std::span<const CacheHost> hosts);

// HostsHit of DivideOverHosts, for a reader whose batches are made where the data set's are. Without
// hosts it is not known where they are made, and one cache is counted: UniformHit.
[[nodiscard]] double HitShare(double quota, double total, std::span<const CacheHost> hosts);

// HitShare as a function of the quota: pieces of equal gain, in the order in which a quota fills them.
struct HitPiece {
  double bytes = 0;
  double gain = 0;  // share of reads for each `total` bytes: 1 on one host; never more than before
};
[[nodiscard]] std::vector<HitPiece> HitPieces(double total, std::span<const CacheHost> hosts);

}  // namespace headrace::coordinator
