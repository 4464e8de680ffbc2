// Times of tests that have no clock.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace headrace {

/// The time `ms` milliseconds after the origin of the steady clock.
inline SteadyTime At(std::int64_t ms) { return SteadyTime(std::chrono::milliseconds(ms)); }

}  // namespace headrace
