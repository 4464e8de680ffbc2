#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace headrace::client {

// The processes that the trainer has started for a session's lanes, one a lane
// (docs/adr/0025-lanes.md). Each takes sockets to serve on from its control socket, so a lane
// outlives the worker that it served. Reactor thread.
class LaneProcesses {
 public:
  struct Lane {
    UniqueFd control;  // ours; the process holds the other end
    std::int64_t pid = 0;
    std::uint64_t life = 0;  // how often its process has begun again
  };

  // Replaces the lanes.
  void Replace(std::vector<Lane> lanes) {
    lanes_ = std::move(lanes);
    ++set_;
  }
  // Makes these lanes' processes begin again, as before their first batch, with the next connection
  // to them. Older connections serve no more: the set is another one.
  void Again(std::span<const std::int32_t> lanes) {
    for (const std::int32_t lane : lanes) {
      if (static_cast<std::size_t>(lane) < lanes_.size()) {
        ++lanes_[static_cast<std::size_t>(lane)].life;
      }
    }
    ++set_;
  }
  // The number of calls of Replace and Again so far.
  [[nodiscard]] std::uint64_t set() const { return set_; }
  [[nodiscard]] std::size_t size() const { return lanes_.size(); }
  [[nodiscard]] std::int64_t pid(std::size_t lane) const { return lanes_[lane].pid; }
  // Returns the other end of a new connection on which the lane's process serves. If the process has
  // ended, or does not read, the connection has ended too: a worker that got none would wait for it.
  // Errors of socketpair.
  [[nodiscard]] Result<UniqueFd> Connect(std::size_t lane) const;

 private:
  std::vector<Lane> lanes_;
  std::uint64_t set_ = 0;
};

}  // namespace headrace::client
