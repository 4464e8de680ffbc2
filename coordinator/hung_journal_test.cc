// A coordinator whose journal is on a disk that does not answer.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <string>

#include "coordinator/coordinator.h"
#include "coordinator/held_answers.h"
#include "coordinator/state/hung_disk.h"
#include "coordinator/test_peer.h"
#include "net/test_util.h"

namespace headrace::coordinator {
namespace {

// The bound is reached by peers that do not wait for answers. Then messages are dropped, and the
// coordinator goes on when the disk does: with what it had taken in, and nothing else.
TEST(HungJournal, WhatWaitsForTheDiskIsBounded) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP()
      << "within a process libzmq hands a message's memory on from thread to thread, and the "
         "thread sanitizer does not see how";
#endif
  std::string directory = testing::TempDir() + "hung" + std::string(6, 'X');
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  HungDisk disk;
  CoordinatorOptions options;
  options.listen = "inproc://hung-journal";  // what is sent is there, without a network
  options.state_dir = directory;
  options.heartbeat = std::chrono::seconds(60);
  const auto context = net::MakeContext();
  const auto reactor = std::move(net::Reactor::Make("coordinator", Clock::Real(), context)).value();
  auto coordinator = std::move(Coordinator::Make(*reactor, options)).value();
  ASSERT_TRUE(reactor->Start().ok());
  const auto peers = std::move(net::Reactor::Make("peers", Clock::Real(), context)).value();
  ASSERT_TRUE(peers->Start().ok());
  constexpr std::size_t kRoom = HeldAnswers::kMostCost / HeldAnswers::kStatusCost;
  {
    TestPeer peer(*peers, options.listen);
    const auto status = [](std::uint64_t request) {
      wire::StatusQuery query;
      query.request = request;
      return query;
    };
    EXPECT_EQ(peer.Ask<wire::ClusterStatus>(status(1)).request, 1U);
    disk.Hang();
    wire::OpenJob open;
    open.request = 1;
    open.token = "token-of-the-first";
    peer.Send(open);  // its answer waits, and what is said after it
    for (std::uint64_t i = 0; i < 4 * kRoom; ++i) peer.Send(status(100 + i));
    open.request = 2;
    open.token = "token-of-the-second";
    peer.Send(open);
    TestPeer later(*peers, options.listen);
    later.Send(status(1000));  // dropped: who asks, asks again
    // It reads 64 in a turn. A task does not end a turn, and a timer does.
    for (int i = 0; i < 50; ++i) {
      std::promise<void> turned;
      net::testing::RunOn(*reactor, [&] {
        reactor->AddOnce(std::chrono::milliseconds(1), [&] { turned.set_value(); });
      });
      turned.get_future().wait();
    }
    disk.Answer();
    EXPECT_TRUE(peer.Await<wire::JobOpened>().status.ok());
    const auto now = later.Ask<wire::ClusterStatus>(status(1001));
    EXPECT_EQ(now.jobs.size(), 1U) << "the second was not heeded";
    EXPECT_TRUE(peer.Ask<wire::JobOpened>(open).status.ok()) << "it says it again";
    // How many come before the journal is seen to hang is the scheduler's to say; the room is for the rest.
    peer.Send(status(5000));
    std::size_t answered = 0;
    while (peer.Await<wire::ClusterStatus>().request != 5000) ++answered;
    EXPECT_GE(answered, kRoom / 2) << "what was taken in is answered";
    EXPECT_LT(answered, 2 * kRoom) << "the rest was dropped";
  }
  reactor->Stop();
  coordinator.reset();
  peers->Stop();
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace headrace::coordinator
