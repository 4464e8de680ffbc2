#include "trainer_client/session/lane_states.h"

#include <cstddef>
#include <utility>

namespace headrace::client {

void LaneStates::Begin(std::span<const Bytes> states) {
  states_.clear();
  for (std::size_t lane = 0; lane < states.size(); ++lane) {
    if (!states[lane].empty()) states_[static_cast<std::int32_t>(lane)] = states[lane];
  }
  begins_ = states_;
}

const Bytes& LaneStates::state(std::int32_t lane) const {
  static const Bytes kBegins;
  const auto at = states_.find(lane);
  return at == states_.end() ? kBegins : at->second;
}

const Bytes& LaneStates::Made(std::int32_t lane, Bytes state, bool earlier) {
  Bytes& now = states_[lane] = std::move(state);
  if (earlier) begins_[lane] = now;
  return now;
}

void LaneStates::Restore(std::int32_t lane, const Bytes& state) {
  if (state.empty()) {
    states_.erase(lane);
  } else {
    states_[lane] = state;
  }
}

void LaneStates::Answer(bool all, bool earlier) {
  std::erase_if(asked_, [&](const Asked& asked) {
    if (asked.end ? !all : !earlier) return false;
    std::vector<Bytes> states(static_cast<std::size_t>(lanes_));
    for (const auto& [lane, state] : asked.end ? states_ : begins_) {
      if (static_cast<std::size_t>(lane) < states.size()) {
        states[static_cast<std::size_t>(lane)] = state;
      }
    }
    asked.done(std::move(states));
    return true;
  });
}

}  // namespace headrace::client
