#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "dataworker/cache/cache_entry.h"

namespace headrace::dataworker {

// Says which worker of a job's keeps an entry. Each worker draws a number for the entry, from both
// names alone, and the greatest owns it (weighted rendezvous hashing). So
//
//   each owns its part by weight, whatever the entries are
//   a worker that joins takes its part from all others; nothing else moves
//   the part of one that leaves, or is lost, goes to all others; nothing else moves
//   where a weight changes, entries move to or from that worker alone
//
// Two workers that know different rings for a moment disagree about some entries. That costs misses
// and second copies, never a wrong byte: an entry is its content's, wherever it is. A value; pure.
class PeerRing {
 public:
  struct Member {
    WorkerId worker;
    std::uint64_t weight = 0;  // bytes; 0: it owns nothing
  };
  PeerRing() = default;
  explicit PeerRing(std::vector<Member> members) : members_(std::move(members)) {}

  // The members that own something.
  [[nodiscard]] std::size_t owners() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(members_, [](const Member& each) { return each.weight > 0; }));
  }
  // The owner, and the runner-up: who owned the entry before the owner came, and will when it goes. Not
  // valid: no member, or no other one, has a weight. O(members).
  struct Ranked {
    WorkerId owner, next;
  };
  [[nodiscard]] Ranked RankOf(const EntryId& entry) const;
  [[nodiscard]] WorkerId OwnerOf(const EntryId& entry) const { return RankOf(entry).owner; }
  // Whether the worker may own entries.
  [[nodiscard]] bool Has(WorkerId worker) const {
    return std::ranges::any_of(members_, [worker](const Member& each) {
      return each.worker == worker && each.weight > 0;
    });
  }
  // Whether both have the same members with the same weights, in the same order.
  [[nodiscard]] bool Equals(const PeerRing& other) const {
    return std::ranges::equal(members_, other.members_, [](const Member& a, const Member& b) {
      return a.worker == b.worker && a.weight == b.weight;
    });
  }

 private:
  std::vector<Member> members_;
};

}  // namespace headrace::dataworker
