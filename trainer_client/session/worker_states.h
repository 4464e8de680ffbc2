#pragma once

#include <map>

#include "base/ids.h"
#include "trainer_client/session/dispatcher.h"

namespace headrace::client {

// What a session knows of one worker that is connected.
struct WorkerFacts {
  bool ready = false;      // its link is up, and it has the session's code and tables
  bool leased = false;     // the coordinator gives it to the job
  bool may_serve = false;  // what it makes counts: it is on this host, or has been compared enough
  bool unfit = false;      // its files are not the trainer's
  bool resting = false;    // it is much slower than its peers

  // It may make batches, though it may be resting.
  [[nodiscard]] bool usable() const { return ready && leased && may_serve && !unfit; }
};

// What the dispatcher may ask of a worker with these facts, which is ready. `all`: the session's
// workers; the worker itself may be missing there, since its link is new. One that is unfit, or rests, is asked for
// nothing as long as another one may do its work: a peer that is itself unfit, on trial, without a lease
// or not there does not count. Pure.
[[nodiscard]] Dispatcher::WorkerState StateOf(const WorkerFacts& facts,
                                              const std::map<WorkerId, WorkerFacts>& all);

}  // namespace headrace::client
