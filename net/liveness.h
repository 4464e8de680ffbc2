#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"

// Who is alive, from the times of their messages alone. Any valid message counts, not only beats.
namespace headrace::net {

enum class Liveness { kAlive, kSuspect, kDead };

struct LivenessLimits {
  Duration suspect_after = std::chrono::seconds(3);  // three beats: one lost is nothing
  Duration dead_after = std::chrono::seconds(10);
};

// state    | Heard   | silent >= suspect_after | silent >= dead_after
// alive    | alive   | suspect                 | dead
// suspect  | alive   | -                       | dead
// dead     | alive   | -                       | -
[[nodiscard]] Liveness LivenessAfter(Duration silence, const LivenessLimits& limits);

// The peers of one process. Pure: times come in, changes go out. One thread.
template <typename Id>
class LivenessTable {
 public:
  struct Change {
    Id peer;
    Liveness to;
    friend bool operator==(const Change&, const Change&) = default;
  };

  explicit LivenessTable(LivenessLimits limits = {}) : limits_(limits) {}

  // A valid message came, or the peer was just introduced. Returns what it was before (an unknown
  // one: kAlive); a peer that comes back from kDead must be told what it missed.
  Liveness Heard(const Id& peer, SteadyTime now) {
    Peer& entry = peers_.try_emplace(peer).first->second;
    if (now > entry.last_heard) entry.last_heard = now;
    return std::exchange(entry.state, Liveness::kAlive);
  }

  // All changes since the last call. O(peers).
  [[nodiscard]] std::vector<Change> Step(SteadyTime now) {
    std::vector<Change> changes;
    for (auto& [peer, entry] : peers_) {
      const Liveness to = LivenessAfter(now - entry.last_heard, limits_);
      // Silence alone makes nobody better: only Heard does.
      if (to <= entry.state) continue;
      entry.state = to;
      changes.push_back({peer, to});
    }
    return changes;
  }

  void Forget(const Id& peer) { peers_.erase(peer); }
  // kDead for a peer that was never heard of.
  [[nodiscard]] Liveness Of(const Id& peer) const {
    const auto found = peers_.find(peer);
    return found == peers_.end() ? Liveness::kDead : found->second.state;
  }
  // How long it has been silent. REQUIRES: known.
  [[nodiscard]] Duration Silence(const Id& peer, SteadyTime now) const {
    return now - peers_.at(peer).last_heard;
  }
  [[nodiscard]] std::size_t size() const { return peers_.size(); }

 private:
  struct Peer {
    SteadyTime last_heard{};
    Liveness state = Liveness::kAlive;
  };

  LivenessLimits limits_;
  std::unordered_map<Id, Peer> peers_;
};

}  // namespace headrace::net
