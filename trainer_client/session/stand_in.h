#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "trainer_client/draws/draw_planner.h"
#include "trainer_client/session/batch_answers.h"
#include "trainer_client/session/batch_book.h"
#include "trainer_client/session/dispatcher.h"
#include "trainer_client/session/size_requests.h"

namespace headrace::client {

// Lets the trainer stand in for workers while there is none: it makes the samples of a native plan
// itself (WithoutWorkers). Reactor thread.
class StandIn {
 public:
  // All outlive this.
  struct Parts {
    DrawPlanner& planner;
    SizeRequests& size_requests;
    BatchBook& book;
    Dispatcher& dispatcher;
    BatchAnswers& answers;
  };

  explicit StandIn(const Parts& parts) : parts_(parts) {}

  // Called after each look at the workers. With `on`, Go leaves what comes to the trainer.
  void Set(bool on) { on_ = on; }
  // Leaves to the trainer what workers would be asked for now. `take_planned` brings what is planned
  // into the book.
  void Go(const std::function<void()>& take_planned);
  // Ends it: sizes that counted as unknowable are asked for again.
  void End();

 private:
  Parts parts_;
  bool on_ = false;
  std::vector<std::int64_t> unread_;  // keys whose sizes count as unknowable
};

}  // namespace headrace::client
