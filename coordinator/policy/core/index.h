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
// more than their floor. The rates r maximise a concave function, with s = kSharpness:
//
//   sum of  e^index * (rate with its fair share)^(1/s) * (r - floor)^(1 - 1/s)
//
// `floor`: the part of a fair share, if the snapshot has none. The objective is BusyGpus of the rates.
[[nodiscard]] Division DivideByIndex(const Snapshot& admitted, std::span<const double> hits,
                                     std::span<const double> index, double floor);

// The same by the GPU time that a core frees (GoldMiner's aim), and by how soon a job ends:
//
//   gpus / g / (cost * price of a core + bytes * price of a byte/s) / seconds left
//
// While a job keeps gpus * rate / g of its GPUs busy, that is linear in its rate. The time left counts
// because a job that ends frees GPUs for another, which may be fed better: the most busy GPUs now are not
// the most over time. Together they are GPUs over core-seconds left. Where the remaining work of a job is
// not known, the geometric mean of the others' stands for it.
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
