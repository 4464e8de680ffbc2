#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "base/result.h"
#include "base/unique_fd.h"
#include "dataworker/stage/stage_hosts.h"

namespace headrace::dataworker {

// The processes that the trainer has started for a session's lanes, one a lane in each set
// (docs/adr/0025-lanes.md). A later set replaces the one before. Reactor thread.
class LaneHosts final : public StageHosts {
 public:
  explicit LaneHosts(std::int32_t lanes) : lanes_(lanes) {}

  // Gives a lane's process, which serves at the other end of `socket`. It replaces one that was
  // given before. One that has ended already is known as such. kInvalidArgument: no such lane, or a
  // set that another one has replaced.
  Status Give(const Lane& lane, UniqueFd socket, std::int64_t pid);

  Result<std::optional<Begun>> Begin(std::uint64_t host, const Lane& lane) override;
  [[nodiscard]] bool alive() const override { return true; }
  [[nodiscard]] std::int64_t pid() const override { return 0; }
  [[nodiscard]] bool begins_anew() const override { return false; }

 private:
  const std::int32_t lanes_;
  std::uint64_t newest_ = 0;             // set
  std::map<std::int32_t, Begun> given_;  // of the newest set, by lane, and not begun
  std::set<std::int32_t> begun_;         // of the newest set
};

}  // namespace headrace::dataworker
