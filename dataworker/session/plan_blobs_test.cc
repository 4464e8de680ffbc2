// The blobs of a plan on their way, and the table by which sessions share them.
#include "dataworker/session/plan_blobs.h"

#include <cstring>
#include <optional>
#include <string>

#include "dataworker/worker/worker_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

BlobContent Content(const std::string& text) { return BlobFromBytes(CopyBytes(AsBytes(text))); }

std::string Text(const BlobContent& content) { return std::string(AsText(*content)); }

TEST(BlobTable, ABlobIsFoundWhileASessionHoldsIt) {
  BlobTable table;
  BlobContent content = Content("x");
  table.Add(JobId(1), BlobHash(1), content);
  EXPECT_EQ(table.Find(JobId(1), BlobHash(1)), content);
  EXPECT_EQ(table.Find(JobId(1), BlobHash(2)), nullptr);
  content.reset();
  EXPECT_EQ(table.Find(JobId(1), BlobHash(1)), nullptr);
}

// One that knows the hash of another's code can make code of its own with it.
TEST(BlobTable, AJobFindsItsOwnAloneAndMayCompareWithAnothers) {
  BlobTable table;
  const BlobContent mine = Content("mine"), forged = Content("forged");
  table.Add(JobId(1), BlobHash(7), forged);
  EXPECT_EQ(table.Find(JobId(2), BlobHash(7)), nullptr);
  EXPECT_EQ(table.OfAnother(JobId(2), BlobHash(7)), forged);
  EXPECT_EQ(table.OfAnother(JobId(1), BlobHash(7)), nullptr) << "its own is no other's";
  EXPECT_EQ(table.OfAnother(JobId(2), BlobHash(6)), nullptr);
  EXPECT_EQ(table.OfAnother(JobId(2), BlobHash(8)), nullptr);
  table.Add(JobId(2), BlobHash(7), mine);
  EXPECT_EQ(table.Find(JobId(2), BlobHash(7)), mine);
  EXPECT_EQ(table.Find(JobId(1), BlobHash(7)), forged);
}

class PlanBlobsTest : public ::testing::Test {
 protected:
  BlobContent Part(PlanBlobs& blobs, BlobHash hash, std::uint64_t offset, const std::string& text,
                   std::uint64_t total = 4) {
    auto made =
        blobs.OnPart({.hash = hash, .total_bytes = total, .offset = offset}, AsBytes(text), now_);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return made.ok() ? *made : nullptr;
  }

  const BlobHash a_{1}, b_{2};
  SteadyTime now_ = SteadyTime(std::chrono::seconds(1));
  BlobTable table_;
  const PlanBlobs::Bounds bounds_{WorkerMemory::Make(1 << 20),
                                  {"--max-blob-bytes", 10000, "bytes"}};
  PlanBlobs blobs_{table_, JobId(1), {a_, b_}, bounds_};
};

TEST_F(PlanBlobsTest, APlanWithoutBlobsIsComplete) {
  EXPECT_TRUE(PlanBlobs(table_, JobId(1), {}, bounds_).complete());
}

TEST_F(PlanBlobsTest, PartsBecomeABlobThatIsHereWhenItIsKept) {
  EXPECT_THAT(blobs_.missing(), ElementsAre(a_, b_));
  EXPECT_EQ(Part(blobs_, a_, 0, "on"), nullptr);
  EXPECT_EQ(Part(blobs_, b_, 0, "t"), nullptr);  // beside it
  const BlobContent content = Part(blobs_, a_, 2, "e!");
  ASSERT_NE(content, nullptr);
  EXPECT_EQ(Text(content), "one!");
  EXPECT_THAT(blobs_.missing(), ElementsAre(b_));
  EXPECT_THAT(blobs_.here(), IsEmpty());
  EXPECT_EQ(table_.Find(JobId(1), a_), nullptr);
  blobs_.Keep(a_, content);
  EXPECT_EQ(blobs_.here().at(a_), content);
  EXPECT_EQ(table_.Find(JobId(1), a_), content);
  EXPECT_FALSE(blobs_.complete());
  blobs_.Keep(b_, Part(blobs_, b_, 1, "wo!"));
  EXPECT_TRUE(blobs_.complete());
  EXPECT_THAT(blobs_.missing(), IsEmpty());
  // It comes again, from a trainer that asked twice.
  EXPECT_EQ(Part(blobs_, a_, 0, "one!"), nullptr);
}

TEST_F(PlanBlobsTest, APartThatIsNotTheNextOneDropsTheEarlierOnes) {
  EXPECT_EQ(Part(blobs_, a_, 0, "o"), nullptr);
  EXPECT_EQ(Part(blobs_, a_, 2, "e!"), nullptr);
  EXPECT_EQ(Part(blobs_, a_, 1, "ne!"), nullptr);
  EXPECT_THAT(blobs_.missing(), ElementsAre(a_, b_));
  EXPECT_NE(Part(blobs_, a_, 0, "one!"), nullptr);
}

TEST_F(PlanBlobsTest, BlobsOverTheBoundOfAJobAreRefused) {
  EXPECT_EQ(Part(blobs_, a_, 0, "x", 9960), nullptr) << "the first part of it";
  const auto over = blobs_.OnPart({.hash = b_, .total_bytes = 41, .offset = 0}, {}, now_);
  EXPECT_EQ(over.status().code(), Code::kUnsupported);
  EXPECT_THAT(over.status().message(), HasSubstr("10001 bytes are over the limit of 10000"));
  EXPECT_EQ(
      blobs_.OnPart({.hash = b_, .total_bytes = UINT64_MAX, .offset = 0}, {}, now_).status().code(),
      Code::kUnsupported);
  const TestArena memory(4096);
  EXPECT_EQ(blobs_.OnDescriptor(b_, UniqueFd(::dup(memory.fd())), 4096, now_).status().code(),
            Code::kUnsupported);
  EXPECT_THAT(blobs_.missing(), ElementsAre(a_, b_));
}

TEST_F(PlanBlobsTest, ADescriptorOfLessThanItSaysIsRefused) {
  const TestArena memory(4096);
  EXPECT_EQ(blobs_.OnDescriptor(a_, UniqueFd(::dup(memory.fd())), 8192, now_).status().code(),
            Code::kInvalidArgument);
  EXPECT_THAT(blobs_.missing(), ElementsAre(a_, b_));
}

TEST_F(PlanBlobsTest, ABlobIsOfTheWorkersMemoryWhileSomebodyHasIt) {
  const auto memory = WorkerMemory::Make(50);
  std::optional<PlanBlobs> blobs(std::in_place, table_, JobId(1), std::vector{a_, b_},
                                 PlanBlobs::Bounds{memory, bounds_.of_job});
  BlobContent content = Part(*blobs, a_, 0, "one!");
  ASSERT_NE(content, nullptr);
  EXPECT_EQ(memory->used(), 4U);
  EXPECT_EQ(blobs->OnPart({.hash = b_, .total_bytes = 51, .offset = 0}, {}, now_).status().code(),
            Code::kUnsupported);
  blobs->Keep(a_, std::move(content));
  content.reset();
  EXPECT_EQ(memory->used(), 4U);
  blobs.reset();
  EXPECT_EQ(memory->used(), 0U);
}

TEST_F(PlanBlobsTest, WhatAnotherJobSentTakesNoMoreMemoryWhileTheBytesAreTheSame) {
  const auto memory = WorkerMemory::Make(50);
  const BlobContent theirs = Content("one!");
  table_.Add(JobId(2), a_, theirs);
  table_.Add(JobId(2), b_, theirs);
  PlanBlobs blobs(table_, JobId(1), {a_, b_}, {memory, bounds_.of_job});
  EXPECT_EQ(Part(blobs, a_, 0, "on"), nullptr);
  EXPECT_EQ(Part(blobs, a_, 2, "e!"), theirs);
  EXPECT_EQ(memory->used(), 0U);
  // Forged: it has the hash alone.
  EXPECT_EQ(Part(blobs, b_, 0, "on"), nullptr);
  EXPECT_EQ(memory->used(), 0U);
  const BlobContent mine = Part(blobs, b_, 2, "ly");
  ASSERT_NE(mine, nullptr);
  EXPECT_EQ(Text(mine), "only");
  EXPECT_EQ(memory->used(), 4U);
}

TEST_F(PlanBlobsTest, ABlobThatFindsNoMemoryNowMayComeLater) {
  const auto memory = WorkerMemory::Make(50);
  std::optional<WorkerMemory::Lease> others = *memory->Take(48, "others");
  PlanBlobs blobs(table_, JobId(1), {a_}, {memory, bounds_.of_job});
  const wire::BlobPart part{.hash = a_, .total_bytes = 4, .offset = 0};
  EXPECT_EQ(blobs.OnPart(part, AsBytes("on"), now_).status().code(), Code::kResourceExhausted);
  EXPECT_TRUE(blobs.lacks_room());
  EXPECT_EQ(Part(blobs, a_, 2, "e!"), nullptr) << "of the same attempt: useless";
  EXPECT_FALSE(blobs.FindsRoom());
  others.reset();
  EXPECT_TRUE(blobs.FindsRoom());
  EXPECT_FALSE(blobs.lacks_room());
  EXPECT_EQ(memory->used(), 0U);
  EXPECT_NE(Part(blobs, a_, 0, "one!"), nullptr);
}

TEST_F(PlanBlobsTest, ADescriptorIsAWholeBlob) {
  const TestArena memory(4096);
  std::memcpy(memory.memory().data(), "one!", 4);
  const UniqueFd fd(::dup(memory.fd()));
  const auto made = blobs_.OnDescriptor(a_, fd, 4096, now_);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(Text(*made).substr(0, 4), "one!");
  EXPECT_THAT(blobs_.missing(), ElementsAre(b_));
  EXPECT_EQ(blobs_.OnDescriptor(a_, fd, 4096, now_).value(), nullptr);
}

TEST_F(PlanBlobsTest, ARestartDropsPartsAndTakesWhatOtherSessionsHave) {
  EXPECT_EQ(Part(blobs_, a_, 0, "on"), nullptr);
  const BlobContent other = Content("two");
  table_.Add(JobId(1), b_, other);
  EXPECT_FALSE(blobs_.here().contains(b_));
  blobs_.Restart(now_);
  EXPECT_THAT(blobs_.missing(), ElementsAre(a_));
  EXPECT_EQ(blobs_.here().at(b_), other);
  EXPECT_EQ(Part(blobs_, a_, 0, "on"), nullptr);
  EXPECT_NE(Part(blobs_, a_, 2, "e!"), nullptr);
}

TEST_F(PlanBlobsTest, ABlobThatIsBeingVerifiedIsMissingAgainOnlyWhenThatIsSaid) {
  ASSERT_NE(Part(blobs_, a_, 0, "one!"), nullptr);
  blobs_.Keep(b_, Part(blobs_, b_, 0, "two!"));
  blobs_.MissAgain();
  EXPECT_THAT(blobs_.missing(), ElementsAre(a_));
  ASSERT_NE(Part(blobs_, a_, 0, "one!"), nullptr);
  blobs_.Restart(now_);
  EXPECT_THAT(blobs_.missing(), IsEmpty());
}

TEST_F(PlanBlobsTest, ItIsStalledWhenNothingCameForAWhile) {
  blobs_.Restart(now_);
  now_ += PlanBlobs::kPatience;
  EXPECT_FALSE(blobs_.Stalled(now_));
  EXPECT_TRUE(blobs_.Stalled(now_ + Duration(1)));
  EXPECT_EQ(Part(blobs_, a_, 0, "on"), nullptr);
  EXPECT_FALSE(blobs_.Stalled(now_ + Duration(1)));
  EXPECT_NE(Part(blobs_, a_, 2, "e!"), nullptr);
  EXPECT_NE(Part(blobs_, b_, 0, "two!"), nullptr);
  EXPECT_FALSE(blobs_.Stalled(now_ + std::chrono::hours(1)));  // nothing is missing
}

}  // namespace
}  // namespace headrace::dataworker
