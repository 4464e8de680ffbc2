#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "gtest/gtest.h"
#include "net/reactor.h"
#include "trainer_client/session/batch_queue.h"
#include "trainer_client/session/worker_set.h"

namespace headrace::client {

// For tests of one part of a session: all parts that stand below it are there, and no worker. The
// plan has one lane.
class SessionPartsTest : public testing::Test {
 protected:
  explicit SessionPartsTest(bool python_lanes, Dispatcher::Options dispatching = {})
      : dispatcher_(dispatching),
        queue_({.book = book_,
                .lanes = lanes_,
                .planner = planner_,
                .dispatcher = dispatcher_,
                .comparisons = comparisons_,
                .mailbox = mailbox_,
                .loans = loans_,
                .sizes = sizes_},
               python_lanes) {}

  // What the trainer is told or given next; nothing: it would wait.
  BatchMailbox::Taken Next() {
    auto taken = mailbox_.Next(std::chrono::milliseconds(0), clock_);
    return taken.ok() ? std::move(*taken) : BatchMailbox::Taken();
  }

  FakeClock clock_;
  std::shared_ptr<net::Reactor> reactor_ = *net::Reactor::Make("test");
  LinkContext context_;
  BatchBook book_;
  LaneStates lanes_{1};
  DrawPlanner planner_{DrawPlanner::Options{.native = false}};
  Dispatcher dispatcher_;
  Comparisons comparisons_{{}};
  BatchMailbox mailbox_{true};
  std::shared_ptr<Arena> arena_ = *Arena::Make(std::uint64_t{1} << 20);
  SlotLoans loans_{arena_, mailbox_};
  BatchSizes sizes_{context_.plan, {}, 100};
  WorkerSet workers_{*reactor_, context_, true, {}};
  BatchQueue queue_;
};

}  // namespace headrace::client
