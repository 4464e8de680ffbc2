#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "dataworker/stage/frame_socket.h"

namespace headrace::dataworker {

// The source of the processes that make a session's batches. A zygote forks them here, or the
// trainer starts its lanes' processes itself. Reactor thread.
class StageHosts {
 public:
  // The lane for which a host makes batches.
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
  // Returns a host for the lane. nullopt: its process is on its way. kUnavailable: there is none,
  // and none will come.
  virtual Result<std::optional<Begun>> Begin(std::uint64_t host, const Lane& lane) = 0;
  // False: no host will come any more.
  [[nodiscard]] virtual bool alive() const = 0;
  // The id of the process that forks hosts; 0: there is none.
  [[nodiscard]] virtual std::int64_t pid() const = 0;
  // Whether a lane that has a host can get a fresh one. If not, its host makes whatever it is asked
  // for, and the lane ends with it.
  [[nodiscard]] virtual bool begins_anew() const = 0;
};

}  // namespace headrace::dataworker
