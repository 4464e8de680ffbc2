#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/buffer.h"
#include "base/graph.h"
#include "base/result.h"

namespace headrace::client {

// Whether the plan's lanes draw in Python, so that their states come with the batches.
[[nodiscard]] inline bool HasPythonLanes(const Plan& plan) {
  return plan.has_python_stage && plan.rng == RngMode::kTorch;
}

// Holds the states of the Python lanes' generators: after what is made, and where the iteration
// began. They travel with the batches, because any worker may make a lane's next one. An empty
// state means that the lane has not drawn yet, and begins with its seed. No errors. Reactor thread.
class LaneStates {
 public:
  // One state a lane.
  using OnStates = std::function<void(Result<std::vector<Bytes>>)>;

  explicit LaneStates(std::int32_t lanes) : lanes_(lanes) {}

  // Begins an iteration with these states, by lane.
  void Begin(std::span<const Bytes> states);
  // Begins an iteration after all that was submitted before it, which is made and dropped.
  void GoOn() { begins_ = states_; }
  [[nodiscard]] const Bytes& state(std::int32_t lane) const;
  // Notes that a batch of the lane was made. `earlier`: of an earlier iteration, so this one begins
  // after it.
  const Bytes& Made(std::int32_t lane, Bytes state, bool earlier);
  // Sets the lane back to this state, because it makes batches again.
  void Restore(std::int32_t lane, const Bytes& state);

  // Asks for the states after all that was submitted (`end`), or where the iteration began.
  void Ask(bool end, OnStates done) { asked_.push_back({end, std::move(done)}); }
  // Answers what can be answered. `all`: nothing is left to be made. `earlier`: nothing of earlier
  // iterations is.
  void Answer(bool all, bool earlier);

 private:
  struct Asked {
    bool end;
    OnStates done;
  };
  using States = std::unordered_map<std::int32_t, Bytes>;

  std::int32_t lanes_;
  States states_, begins_;
  std::vector<Asked> asked_;
};

}  // namespace headrace::client
