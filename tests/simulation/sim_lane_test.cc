// The simulated lane keeps the rules of the real one (dataworker/stage/python/headrace/stage/lane.py).
#include "tests/simulation/sim_lane.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "dataworker/stage/frame_socket.h"
#include "dataworker/stage/stage_request.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/simulation/sim_world.h"
#include "trainer_client/session/lane_processes.h"

namespace headrace::simulation {
namespace {

using dataworker::FrameSocket;
using dataworker::StageFrame;
using dataworker::StageMessage;
using std::chrono::milliseconds;
using ::testing::IsEmpty;

// A data worker's end, played by hand.
struct Hand {
  FrameSocket socket;
  std::vector<StageFrame> answers;

  [[nodiscard]] std::uint64_t Outcome(std::size_t answer) const {
    return dataworker::StageNumbers(answers.at(answer).parts.at(1)).at(0);
  }
};

class SimLaneTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kSlot = 8192;

  SimLaneTest() {
    std::vector<client::LaneProcesses::Lane> lanes(1);
    lanes[0].control = lane_->TakeEnd();
    processes_.Replace(std::move(lanes));
    memory_ = UniqueFd(::memfd_create("memory", MFD_CLOEXEC));
    HR_CHECK(::ftruncate(memory_.get(), 2 * kSlot) == 0);
  }
  Hand Connect() {
    Hand hand{*FrameSocket::Adopt(*processes_.Connect(0)), {}};
    const UniqueFd channel(::dup(memory_.get()));
    HR_CHECK(
        hand.socket.Send(StageMessage::kArena, {}, std::array{memory_.get(), channel.get()}).ok());
    return hand;
  }
  void Ask(Hand& hand, std::int64_t batch, std::uint64_t slot_bytes = kSlot) {
    wire::BatchRequest request;
    request.lane = LaneId(0);
    request.base_seed = 3;
    request.iteration = IterationId(1);
    request.batch = BatchId(batch);
    request.keys = {8 * batch, 1};
    request.slot_bytes = slot_bytes;
    const UniqueFd file =
        *dataworker::MemoryFile("request", dataworker::StageRequestBytes(request, 0));
    const std::uint64_t number = 5;
    const std::array<ByteSpan, 1> parts{std::as_bytes(std::span(&number, 1))};
    HR_CHECK(hand.socket.Send(StageMessage::kBatch, parts, std::array{file.get()}).ok());
    RunFor(milliseconds(50));
    (void)hand.socket.Receive(
        [&](StageFrame&& frame) { hand.answers.push_back(std::move(frame)); });
  }
  void RunFor(Duration time) {
    world_.events().After(Duration(1), [] {});  // somebody has to look
    const SteadyTime until = world_.events().Now() + time;
    while (world_.events().RunNext(until)) {
    }
  }
  [[nodiscard]] std::vector<std::uint64_t> Slot() const {
    std::vector<std::uint64_t> rows(2);
    HR_CHECK(::pread(memory_.get(), rows.data(), 16, 0) == 16);
    return rows;
  }
  [[nodiscard]] static std::vector<std::uint64_t> Rows(std::int64_t batch, std::int64_t nth) {
    return StageRows(3, 0, nth, {8 * batch, 1});
  }

  SimWorld world_{{.seed = 1}};
  std::unique_ptr<SimLane> lane_ = std::make_unique<SimLane>(
      world_.MakeProcess("h", "lane"),
      SimLane::Options{.least = milliseconds(1), .most = milliseconds(5)}, Dice(1));
  client::LaneProcesses processes_;
  UniqueFd memory_;
};

TEST_F(SimLaneTest, ABatchThatIsAskedForAgainIsNotMadeAgain) {
  Hand one = Connect(), two = Connect();
  Ask(one, 4);
  ASSERT_EQ(one.answers.size(), 1U);
  EXPECT_EQ(one.Outcome(0), 0U);
  EXPECT_EQ(Slot(), Rows(4, 1));
  Ask(two, 4);
  EXPECT_EQ(two.Outcome(0), 0U);
  EXPECT_EQ(Slot(), Rows(4, 1));
  Ask(two, 6);
  EXPECT_EQ(Slot(), Rows(6, 2)) << "its code has seen two batches";
}

TEST_F(SimLaneTest, ABatchThatTheLaneHasPassedIsRefused) {
  Hand one = Connect(), two = Connect();
  Ask(one, 4);
  Ask(one, 6);
  Ask(two, 4);
  EXPECT_EQ(two.Outcome(0), 4U);
  Ask(one, 8);
  EXPECT_EQ(Slot(), Rows(8, 3));
}

TEST_F(SimLaneTest, ASlotThatIsTooSmallCostsNoState) {
  Hand one = Connect();
  Ask(one, 4, 100);
  EXPECT_EQ(one.Outcome(0), 2U);
  Ask(one, 4);
  EXPECT_EQ(one.Outcome(1), 0U);
  EXPECT_EQ(Slot(), Rows(4, 1));
}

TEST_F(SimLaneTest, ItEndsWhenItsTrainerLetsGo) {
  Hand one = Connect();
  Ask(one, 4);
  processes_.Replace({});
  RunFor(milliseconds(10));
  EXPECT_TRUE(lane_->ended());
  EXPECT_EQ(one.socket.Receive([](StageFrame&&) {}).code(), Code::kUnavailable);
}

TEST_F(SimLaneTest, AStoppedLaneAnswersLater) {
  Hand one = Connect();
  Ask(one, 4);
  lane_->process().Stop();
  Ask(one, 6);
  EXPECT_EQ(one.answers.size(), 1U);
  lane_->process().Continue();
  RunFor(milliseconds(50));
  (void)one.socket.Receive([&](StageFrame&& frame) { one.answers.push_back(std::move(frame)); });
  EXPECT_EQ(one.answers.size(), 2U);
}

}  // namespace
}  // namespace headrace::simulation
