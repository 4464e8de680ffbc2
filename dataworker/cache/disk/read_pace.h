#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "base/clock.h"
#include "dataworker/cache/marked_files.h"

namespace headrace::dataworker {

// How quickly a medium is read, from the reads that had to wait for it: a mean over the last kHalfLife bytes or
// so. Begins with a guess, which the first reads replace. A value; thread-compatible.
class ReadPace {
 public:
  static constexpr Duration kFixed = std::chrono::microseconds(100);  // of each read
  static constexpr double kGuess = 1.0;                               // ns a byte: 1 GB/s
  static constexpr double kMost = 1000;                               // whatever was said
  static constexpr double kHalfLife = 64e6, kOfTheGuess = 4e6;        // bytes

  void Note(std::uint64_t bytes, Duration waited) {
    if (bytes == 0) return;
    const auto size = static_cast<double>(bytes);
    const double took = static_cast<double>(std::max(waited - kFixed, Duration()).count());
    const double weight = std::min(size, kHalfLife), kept = std::exp2(-weight / kHalfLife);
    bytes_ = bytes_ * kept + weight;
    nanos_ = nanos_ * kept + weight * std::min(took / size, kMost);
  }
  [[nodiscard]] ReadCost Cost() const { return {kFixed, nanos_ / bytes_}; }

 private:
  double bytes_ = kOfTheGuess, nanos_ = kGuess * kOfTheGuess;
};

}  // namespace headrace::dataworker
