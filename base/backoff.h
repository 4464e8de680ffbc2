#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/hash.h"

namespace headrace {

// Waiting times between tries: each about twice the last, up to a cap, scattered so that many
// clients of one dead server do not come back at once. Deterministic for a seed. One thread.
// Source: "Exponential Backoff and Jitter" (AWS Architecture Blog, 2015), equal jitter.
class Backoff {
 public:
  Backoff(Duration first, Duration cap, std::uint64_t seed)
      : first_(first), cap_(cap), next_(first), seed_(seed) {}

  // Between half and all of the nominal time.
  [[nodiscard]] Duration Next() {
    const Duration nominal = next_;
    next_ = std::min(cap_, next_ * 2);
    const std::int64_t half = nominal.count() / 2;
    const auto scatter = static_cast<std::uint64_t>(nominal.count() - half) + 1;
    seed_ = MixBits(seed_);
    return Duration(half + static_cast<std::int64_t>(seed_ % scatter));
  }
  // After a success.
  void Reset() { next_ = first_; }

 private:
  Duration first_;
  Duration cap_;
  Duration next_;
  std::uint64_t seed_;
};

}  // namespace headrace
