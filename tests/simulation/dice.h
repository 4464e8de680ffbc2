#pragma once

#include <cstdint>
#include <string_view>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/hash.h"

namespace headrace::simulation {

// Random numbers that are the same on every machine. Each part of a simulation has dice of its own, so
// that one more throw in one part changes no other. A value; one thread.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  // Dice for one part.
  [[nodiscard]] Dice For(std::string_view part, std::uint64_t number = 0) const {
    return Dice(MixBits(HashBytes(AsBytes(part), state_) + number));
  }

  std::uint64_t Next() { return MixBits(state_ += 0x9e3779b97f4a7c15ULL); }
  // In [0, sides). REQUIRES: sides > 0.
  std::uint64_t Below(std::uint64_t sides) { return Next() % sides; }
  // In [least, most].
  std::int64_t Between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(Below(static_cast<std::uint64_t>(most - least + 1)));
  }
  Duration Between(Duration least, Duration most) {
    return Duration(Between(least.count(), most.count()));
  }
  bool Happens(double probability) {
    return static_cast<double>(Next() >> 11) * 0x1p-53 < probability;
  }

 private:
  std::uint64_t state_;
};

}  // namespace headrace::simulation
