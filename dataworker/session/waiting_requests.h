#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// The requests to a session before it is known whether its plan runs here, in order, and the
// attempts that came already. Pure; thread-compatible.
class WaitingRequests {
 public:
  struct Request {
    SteadyTime received;
    std::variant<wire::BatchRequest, wire::Describe> asked;
  };

  // Whether the attempt is not among the last kAttemptsKept. A message that comes twice is answered
  // once: after the first answer its slot may be another batch's. Attempts count up, so those with
  // much smaller numbers are over.
  [[nodiscard]] bool IsNew(std::uint32_t attempt);
  static constexpr std::size_t kAttemptsKept = 4096;

  void Add(Request request) { waiting_.push_back(std::move(request)); }
  // Takes all of them, in order.
  [[nodiscard]] std::deque<Request> TakeAll() { return std::exchange(waiting_, {}); }
  // Takes the requests for batches of older iterations, in order.
  [[nodiscard]] std::vector<wire::BatchRequest> TakeOlder(IterationId than);
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }

 private:
  std::set<std::uint32_t> attempts_;
  std::deque<Request> waiting_;
};

}  // namespace headrace::dataworker
