#pragma once

#include <cstdint>
#include <span>
#include <vector>

// How much of what workers keep of a data set is there more than once, from samples that are drawn by the
// entries' names. Pure.
namespace headrace::coordinator {

// Of one worker: the names of its entries that are below the bound, uniform numbers that are the same on all
// workers. 2^64 - 1: all.
struct NameSample {
  std::uint64_t below = 0;
  std::vector<std::uint64_t> names;
};

struct DuplicateShare {
  double share = 0;           // 1 - distinct entries / entries
  double error = 0;           // its standard error; 0: all entries were counted
  std::uint64_t sampled = 0;  // entries that it is made from; 0: nothing is known
};

// Names below the least bound are compared: of n of them, d are distinct, and 1 - d / n is the estimate. A
// name is in the sample with all its copies, or with none. So the error is that of a ratio over names, each
// with m copies:
//
//   sqrt((1 - f) * (1 + sum over names of (1 - m * d / n)^2)) / n,   f = the part that was sampled
//
// Source: Cochran, Sampling Techniques, 3rd edition, 6.4 (ratio estimate) and 9A.1 (clusters). The 1 in it
// is one more name of another kind: where all of n names have one copy, 3 / n may still have two.
[[nodiscard]] DuplicateShare DuplicatesOf(std::span<const NameSample> samples);

}  // namespace headrace::coordinator
