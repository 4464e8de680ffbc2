#include "dataworker/peers/peer_ring.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/hash.h"

namespace headrace::dataworker {

PeerRing::Ranked PeerRing::RankOf(const EntryId& entry) const {
  const std::uint64_t name = HashEntryId()(entry);
  struct Draw {
    double number = -std::numeric_limits<double>::infinity();
    WorkerId worker;
    [[nodiscard]] bool Beats(const Draw& other) const {
      return number > other.number || (number == other.number && worker < other.worker);
    }
  };
  Draw first, second;
  for (const Member& member : members_) {
    if (member.weight == 0) continue;
    const std::uint64_t mixed =
        MixBits(name ^ MixBits(static_cast<std::uint64_t>(member.worker.value)));
    // In (0, 1): the middle of one of 2^53 equal parts.
    const double uniform = (static_cast<double>(mixed >> 11) + 0.5) * 0x1p-53;
    // An exponential variable of rate `weight`, as a negative number: the least wins with a chance in
    // proportion to its rate.
    const double drawn = std::log(uniform) / static_cast<double>(member.weight);
    const Draw own{drawn, member.worker};
    if (own.Beats(first)) {
      second = std::exchange(first, own);
    } else if (own.Beats(second)) {
      second = own;
    }
  }
  return {first.worker, second.worker};
}

}  // namespace headrace::dataworker
