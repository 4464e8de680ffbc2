#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

// Divides several limited amounts between many takers at once, continuously: a small change of what is
// asked or of a weight changes the result by little, and equal takers get equal amounts. Policies divide
// cores, bandwidth and cache with it, and with nothing that orders their jobs.
namespace headrace::coordinator {

// One taker. It takes min(most, weight * level), where the level rises for all takers together until a
// limit that this one uses is reached.
struct Flow {
  double most = 0;
  double weight = 0;  // 0: it takes nothing
  struct Use {
    std::int32_t limit = 0;  // position in the limits
    double each = 0;         // what a unit of the flow takes of that limit; 0: nothing
  };
  std::array<Use, 4> uses{};
};

struct Poured {
  std::vector<double> amounts;  // in the order of the flows
  // The lowest level above 0 at which a flow had to stop short of its most; kUnlimited: none had to.
  double level = 0;
  // In the order of the flows: the limit at which it stopped short of its most; -1: it did not. Of one that
  // takes nothing: the limit of which there is least for it.
  std::vector<std::int32_t> stopped;
};

// The limits that are infinite never bind. Pure. O(flows * (log flows + limits)) at worst; O(flows * log
// flows) where few limits bind.
[[nodiscard]] Poured Pour(std::span<const Flow> flows, std::span<const double> limits);

}  // namespace headrace::coordinator
