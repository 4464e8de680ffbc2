#include "trainer_client/session/finish_payload.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/core/test_util.h"
#include "ops/core/value_table.h"
#include "trainer_client/session/batch_result.h"

namespace headrace::client {
namespace {

using ops::testing::Libraries;
using ops::testing::MakeNode;
using ::testing::HasSubstr;

constexpr unsigned kSeed = 20260;
constexpr std::int64_t kSamples = 5, kSide = 33;
constexpr std::size_t kPlane = kSide * kSide, kValues = kSamples * 3 * kPlane;
constexpr std::size_t kLabels = (kValues + 63) / 64 * 64;  // where they are in the payload
constexpr std::size_t kSlotLabels = (kValues * 4 + 63) / 64 * 64;
constexpr std::size_t kSlotBytes = kSlotLabels + kSamples * 8;

// A batch of images and labels that came as uint8 values.
class FinishPayloadTest : public ::testing::Test {
 protected:
  FinishPayloadTest() : payload_(kLabels + kSamples * 8), slot_(kSlotBytes / 8 + 8, kGuard) {
    plan_.chain = {MakeNode("decode"), MakeNode("to_tensor"),
                   MakeNode("normalize", {{"mean", std::vector<double>{0.1, 0.2, 0.3}},
                                          {"std", std::vector<double>{0.4, 0.5, -0.6}}})};
    plan_.fields = {{FieldSpec::Kind::kChain, 0}, {FieldSpec::Kind::kArray, 1}};
    const Result<ops::Chain> chain = ops::Chain::Compile(plan_.chain, Libraries(), {});
    table_ = ops::ValueTable(*chain, 1);
    finisher_.emplace(*ops::Finisher::Make(*chain, 1));
    for (std::byte& b : payload_) b = static_cast<std::byte>(random_());
    done_.used_bytes = payload_.size();
    done_.fields = {{DType::kU8, {kSamples, 3, kSide, kSide}, 0},
                    {DType::kI64, {kSamples}, kLabels}};
  }
  // The payload in frames of random sizes; some are empty.
  std::vector<ByteSpan> Frames() {
    std::vector<ByteSpan> frames;
    for (ByteSpan rest = payload_; !rest.empty();) {
      const std::size_t bytes = std::min<std::size_t>(random_() % 5000, rest.size());
      frames.push_back(rest.first(bytes));
      rest = rest.subspan(bytes);
    }
    return frames;
  }
  [[nodiscard]] MutableByteSpan Slot(std::size_t bytes = kSlotBytes) {
    return std::as_writable_bytes(std::span(slot_)).first(bytes);
  }
  // As a session does it.
  Status Finish(const std::vector<ByteSpan>& frames, MutableByteSpan slot) {
    HR_RETURN_IF_ERROR(CheckAnswer(plan_, {}, kSamples, kSamples, slot.size(), done_));
    return FinishPayload(plan_, *finisher_, frames, slot, done_);
  }
  void ExpectRefused(const std::string& why) {
    const wire::BatchDone before = done_;
    const Status status = Finish(Frames(), Slot());
    EXPECT_EQ(status.code(), Code::kDataLoss) << why;
    EXPECT_THAT(status.message(), HasSubstr(why));
    EXPECT_EQ(done_, before);
  }

  static constexpr std::uint64_t kGuard = 0xA5A5A5A5A5A5A5A5;
  std::mt19937 random_{kSeed};
  Plan plan_;
  Bytes table_;
  std::optional<ops::Finisher> finisher_;
  Bytes payload_;
  std::vector<std::uint64_t> slot_;
  wire::BatchDone done_;
};

// As a plan says it that names the values of its nodes, though it is a single chain.
TEST_F(FinishPayloadTest, AFieldThatNamesItsNodeIsFinishedToo) {
  const std::vector<FieldSpec> named{{FieldSpec::Kind::kValue, 2}, {FieldSpec::Kind::kArray, 1}};
  const wire::BatchDone before = done_;
  ASSERT_TRUE(Finish(Frames(), Slot()).ok());
  const std::vector<std::uint64_t> expected = slot_;
  const wire::BatchDone finished = std::exchange(done_, before);
  std::ranges::fill(slot_, kGuard);
  plan_.fields = named;
  ASSERT_TRUE(Finish(Frames(), Slot()).ok());
  EXPECT_EQ(done_, finished);
  EXPECT_EQ(slot_, expected);
}

TEST_F(FinishPayloadTest, EveryValueIsFinishedAndEverythingElseCopiedHoweverTheFramesAreCut) {
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + " round " + std::to_string(round));
    done_.used_bytes = payload_.size();
    done_.fields = {{DType::kU8, {kSamples, 3, kSide, kSide}, 0},
                    {DType::kI64, {kSamples}, kLabels}};
    const Status status = Finish(Frames(), Slot());
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(done_.used_bytes, kSlotBytes);
    EXPECT_EQ(done_.fields[0], (wire::FieldLayout{DType::kF32, {kSamples, 3, kSide, kSide}, 0}));
    EXPECT_EQ(done_.fields[1], (wire::FieldLayout{DType::kI64, {kSamples}, kSlotLabels}));
    for (std::size_t i = 0; i < kValues; ++i) {
      const std::size_t entry = i / kPlane % 3 * 256 + static_cast<std::size_t>(payload_[i]);
      ASSERT_EQ(std::memcmp(&Slot()[i * 4], &table_[entry * 4], 4), 0) << i;
    }
    EXPECT_EQ(std::memcmp(&Slot()[kSlotLabels], &payload_[kLabels], kSamples * 8), 0);
    for (const std::byte b : std::as_bytes(std::span(slot_)).subspan(kSlotBytes)) {
      ASSERT_EQ(b, std::byte{0xA5});
    }
  }
}

TEST_F(FinishPayloadTest, ABatchOfFailuresAloneHasNoFields) {
  done_ = {};
  for (std::int32_t i = 0; i < kSamples; ++i) done_.failures.push_back({.position = i});
  EXPECT_TRUE(Finish({}, Slot()).ok());
  EXPECT_EQ(done_.used_bytes, 0U);
}

TEST_F(FinishPayloadTest, WhatDoesNotFitIsRefusedAndNothingIsWritten) {
  done_.used_bytes += 1;
  ExpectRefused("payload bytes instead of");
  done_.used_bytes -= 1;
  done_.fields[0].dtype = DType::kI8;
  ExpectRefused("no batch of uint8 images");
  done_.fields[0] = {DType::kU8, {kSamples, 1, kSide, kSide}, 0};
  ExpectRefused("with 3 channels");
  done_.fields[0] = {DType::kU8, {kSamples, 3, kSide * kSide}, 0};
  ExpectRefused("no batch of uint8 images");
  done_.fields[0] = {DType::kU8, {kSamples, 3, std::int64_t{1} << 31, std::int64_t{1} << 31}, 0};
  ExpectRefused("impossible shape");
  done_.fields[0] = {DType::kU8, {kSamples, 3, kSide, kSide + 100}, 0};
  ExpectRefused("outside of its slot");
  done_.fields[0] = {DType::kU8, {kSamples, 3, kSide, kSide}, kLabels};
  ExpectRefused("outside of its slot");
  done_.fields.pop_back();
  ExpectRefused("fields instead of");
  for (const std::uint64_t word : slot_) ASSERT_EQ(word, kGuard);
}

TEST_F(FinishPayloadTest, ASlotForThePayloadAloneIsTooSmall) {
  const std::vector<ByteSpan> frames = Frames();
  for (const std::size_t bytes : {payload_.size(), kSlotBytes - 1}) {
    const Status status = Finish(frames, Slot(bytes));
    EXPECT_EQ(status.code(), Code::kDataLoss);
    EXPECT_THAT(status.message(), HasSubstr("larger than its slot"));
  }
  for (const std::uint64_t word : slot_) ASSERT_EQ(word, kGuard);
}

// Fields may overlap, and shapes may say anything that fits: reads and writes stay inside.
TEST_F(FinishPayloadTest, RandomAnswersTouchNothingOutside) {
  int taken = 0;
  for (int round = 0; round < 20'000; ++round) {
    const auto side = [&] { return static_cast<std::int64_t>(random_() % 40); };
    done_.used_bytes = random_() % 4 == 0 ? random_() : payload_.size();
    done_.fields[0] = {DType::kU8, {kSamples, 3, side(), side()}, random_() % 300 * 64};
    done_.fields[1] = {DType::kI64, {kSamples, side()}, random_() % 300 * 64};
    if (Finish(Frames(), Slot()).ok()) ++taken;
    for (const std::byte b : std::as_bytes(std::span(slot_)).subspan(kSlotBytes)) {
      ASSERT_EQ(b, std::byte{0xA5}) << "seed " << kSeed << " round " << round;
    }
  }
  EXPECT_GT(taken, 1000);
}

}  // namespace
}  // namespace headrace::client
