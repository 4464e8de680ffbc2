#pragma once

namespace headrace::dataworker {

// The mean of a series after its next value, which counts a sixteenth:
// few enough values to follow a change within a batch. A negative mean is none yet.
[[nodiscard]] inline double NextMean(double mean, double value) {
  return mean < 0 ? value : mean + (value - mean) / 16;
}

}  // namespace headrace::dataworker
