#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "schemas/wire/data.h"
#include "trainer_client/draws/draw_planner.h"

namespace headrace::client {

// Asks workers for the sizes of images that the draw planner has not seen. Any worker can read any
// image, and twice does no harm. So another one is asked when an answer is late, and the first
// answer counts. Errors: an image that a worker cannot read has no native form, and the trainer
// makes it. No I/O of its own, no clock. Reactor thread.
class SizeRequests {
 public:
  // Most keys of one request.
  static constexpr std::size_t kMostKeys = 256;
  // An answer is late after kPatience. While all are late, that doubles up to kMostPatience. An
  // answer that is this late again is not waited for.
  static constexpr Duration kPatience = std::chrono::seconds(1);
  static constexpr Duration kMostPatience = std::chrono::seconds(10);

  // The planner outlives this.
  SizeRequests(SessionId session, DrawPlanner& planner) : session_(session), planner_(planner) {}

  // Takes the keys that the planner waits for. False: there is nothing to ask.
  [[nodiscard]] bool Collect();
  // Takes what Collect has found, so that no worker is asked for it.
  [[nodiscard]] std::vector<std::int64_t> TakeWaiting() { return std::exchange(waiting_, {}); }
  // Asks these workers in turn. If there are none, Collect's keys wait. An unsent request times out
  // like a lost one.
  using Send = std::function<void(WorkerId, const wire::Describe&)>;
  void Ask(std::span<const WorkerId> ready, SteadyTime now, const Send& send);
  // Takes an answer; drops one that nobody waits for. False: the worker does not know the session.
  [[nodiscard]] bool OnDescribed(WorkerId worker, const wire::Described& described);
  // Takes back what the worker was asked, because it does not answer.
  void Lose(WorkerId worker);
  // Takes back what is late, so that it is asked again. Late answers still count.
  void AskLateAgain(SteadyTime now);

 private:
  struct Open {
    WorkerId worker;
    std::vector<std::int64_t> keys;
    SteadyTime sent;
    bool late = false;  // its keys were taken back
  };

  SessionId session_;
  DrawPlanner& planner_;
  std::vector<std::int64_t> waiting_;  // no worker could be asked yet
  std::unordered_map<std::uint64_t, Open> open_;
  std::uint64_t next_ = 0;
  Duration patience_ = kPatience;
};

}  // namespace headrace::client
