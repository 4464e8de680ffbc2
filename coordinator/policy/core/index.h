#pragma once

#include <span>

#include "coordinator/policy/core/divide.h"

// How a policy that prefers some jobs divides what the floors leave.
namespace headrace::coordinator {

// How much a job is preferred: weights go as e^(kSharpness * index).
constexpr double kSharpness = 2;
// Part of its fair share that each job surely has, where its index says what it makes of a core.
constexpr double kFloorOfWorth = 0.5;

// Divides cores and bandwidth. `index` is the natural logarithm of what a policy likes in a job, in the
// order of Snapshot::jobs. What the floors leave is poured in proportion to
//
//   rate with its fair share * e^(kSharpness * index)
//
// until nobody can use more. So a job whose index is less by a tenth has a fifth less of that, whatever the
// noise in its measurements, and one that is several times better is served before the others have much
// more than their floor. Where one resource is scarce, the amounts a of it maximise a concave function, with
// s = kSharpness:
//
//   sum of  e^index * (fair share)^(1/s) * (a - floor)^(1 - 1/s)
//
// `floor`: the part of a fair share, if the snapshot has none. The objective is BusyGpus of the rates.
[[nodiscard]] Division DivideByIndex(const Snapshot& admitted, std::span<const double> hits,
                                     std::span<const double> index, double floor);

// The same by what a job's GPUs make of what is scarce, for how long:
//
//   gpus / (samples left * (cost * price of a core + bytes * price of a byte/s))
//
// Without a source that is GPUs over core-seconds left. Who needs few cores for a GPU comes first (GoldMiner's
// aim), and so does who is done soon: its GPUs then serve another job, which may be fed better. The most busy
// GPUs now are not the most over time: without the time left, this order was found to be worth nothing over
// fair shares (ADR 0076). So a job whose remaining work is not known has the geometric mean of the others'
// index. If none is known, all are equal, and what is measured of them, with its noise, decides nothing.
//
// Cost and bytes are those that hold once the job's quota of the cache is full. With the present ones, a
// job whose data is being cached would look dear while it is not served. It would stay at its floor, read
// slowly, fill its quota late, and hold its GPUs all the time. The present ones count a little: among jobs
// that share their data, the one that has read more of it goes first.
//
// A resource of which there is enough for all has no price. With two scarce resources, the prices are
// searched over a small grid, by BusyGpus.
[[nodiscard]] Division DivideByWorth(const Snapshot& admitted, const HitShares& hits);

}  // namespace headrace::coordinator
