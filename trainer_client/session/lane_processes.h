#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace headrace::client {

// The processes of a session's lanes that the trainer has started (docs/adr/0025-lanes.md), one a
// lane. Each takes sockets to serve on from its control socket, so that a lane outlives the worker
// that it served. Reactor thread.
class LaneProcesses {
 public:
  struct Lane {
    UniqueFd control;  // ours; the process holds the other end
    std::int64_t pid = 0;
    std::uint64_t life = 0;  // how often its process has begun again
  };

  // Takes the place of those before.
  void Replace(std::vector<Lane> lanes) {
    lanes_ = std::move(lanes);
    ++set_;
  }
  // These lanes' processes begin again, as they were before their first batch, when the next
  // connection to them is made. Connections from before serve no more: the set is another one.
  void Again(std::span<const std::int32_t> lanes) {
    for (const std::int32_t lane : lanes) {
      if (static_cast<std::size_t>(lane) < lanes_.size()) {
        ++lanes_[static_cast<std::size_t>(lane)].life;
      }
    }
    ++set_;
  }
  // Counts up with each Replace and Again; 0: there was none.
  [[nodiscard]] std::uint64_t set() const { return set_; }
  [[nodiscard]] std::size_t size() const { return lanes_.size(); }
  [[nodiscard]] std::int64_t pid(std::size_t lane) const { return lanes_[lane].pid; }
  // The other end of a new connection on which the lane's process serves.
  // kUnavailable: it has ended, or does not read.
  [[nodiscard]] Result<UniqueFd> Connect(std::size_t lane) const;

 private:
  std::vector<Lane> lanes_;
  std::uint64_t set_ = 0;
};

}  // namespace headrace::client
