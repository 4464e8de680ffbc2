#include "dataworker/peers/peer_ring.h"

#include <cmath>
#include <limits>

#include "base/hash.h"

namespace headrace::dataworker {

WorkerId PeerRing::OwnerOf(const EntryId& entry) const {
  const std::uint64_t name = HashEntryId()(entry);
  WorkerId owner;
  double greatest = -std::numeric_limits<double>::infinity();
  for (const Member& member : members_) {
    if (member.weight == 0) continue;
    const std::uint64_t mixed =
        MixBits(name ^ MixBits(static_cast<std::uint64_t>(member.worker.value)));
    // In (0, 1): the middle of one of 2^53 equal parts.
    const double uniform = (static_cast<double>(mixed >> 11) + 0.5) * 0x1p-53;
    // An exponential variable of rate `weight`, as a negative number: the least wins with a chance in
    // proportion to its rate.
    const double drawn = std::log(uniform) / static_cast<double>(member.weight);
    if (drawn > greatest || (drawn == greatest && member.worker < owner)) {
      greatest = drawn;
      owner = member.worker;
    }
  }
  return owner;
}

}  // namespace headrace::dataworker
