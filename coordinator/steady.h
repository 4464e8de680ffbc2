#pragma once

#include <cmath>
#include <cstdint>

namespace headrace::coordinator {

// A limit that changes by less than this part stays, so that nobody needs to be told.
constexpr double kWobble = 0.02;

// The limit that should hold: `held` unless `wanted` differs by more than the part `wobble`.
[[nodiscard]] inline std::uint64_t Steady(double wanted, std::uint64_t held,
                                          double wobble = kWobble) {
  const auto old = static_cast<double>(held);
  return std::abs(wanted - old) <= wobble * old ? held : static_cast<std::uint64_t>(wanted);
}

}  // namespace headrace::coordinator
