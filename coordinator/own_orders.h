#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <variant>

#include "schemas/wire/control.h"
#include "schemas/wire/message.h"

namespace headrace::coordinator {

// Orders that come from inside of the coordinator's process, as by its page, and who waits for what is said to them.
// They go the way of a peer's orders, so that they are told to be done when a peer would be. Thread-compatible.
class OwnOrders {
 public:
  using Answer = std::function<void(wire::ClusterOrdered)>;
  // Who gives them. No socket has such a peer: ZeroMQ's names are not empty.
  static constexpr const char* kPeer = "";

  // The order, with a number of its own.
  [[nodiscard]] wire::ClusterOrder Begin(wire::ClusterOrder order, Answer answer) {
    order.request = ++last_;
    waiting_[last_] = std::move(answer);
    return order;
  }
  // What was sent to kPeer.
  void Tell(const wire::Body& body) {
    const auto* done = std::get_if<wire::ClusterOrdered>(&body);
    if (done == nullptr) return;
    const auto waiting = waiting_.extract(done->request);
    if (waiting) waiting.mapped()(*done);
  }

 private:
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Answer> waiting_;
};

}  // namespace headrace::coordinator
