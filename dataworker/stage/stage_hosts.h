#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "dataworker/stage/frame_socket.h"

namespace headrace::dataworker {

// Where the processes come from that make a session's batches: a zygote that forks them here, or
// the trainer, which starts its lanes' processes itself. Reactor thread.
class StageHosts {
 public:
  // Whom a host makes batches for.
  struct Lane {
    std::int32_t lane = 0;
    std::uint64_t set = 0;  // wire::BatchRequest::lane_set

    friend bool operator==(const Lane&, const Lane&) = default;
  };
  struct Begun {
    FrameSocket socket;    // the host serves at its other end
    std::int64_t pid = 0;  // 0: told later
  };

  virtual ~StageHosts() = default;
  // A host for the lane. Nothing: its process is on its way. kUnavailable: there is none, and none
  // will come.
  virtual Result<std::optional<Begun>> Begin(std::uint64_t host, const Lane& lane) = 0;
  // False: no host will come any more.
  [[nodiscard]] virtual bool alive() const = 0;
  // Of the process that forks hosts; 0: there is none.
  [[nodiscard]] virtual std::int64_t pid() const = 0;
  // Whether a fresh host can be had for a lane that has one. If not, a lane's host makes whatever
  // it is asked for, and its end is the lane's.
  [[nodiscard]] virtual bool begins_anew() const = 0;
};

}  // namespace headrace::dataworker
