#include "trainer_client/session/slot_loans.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace headrace::client {
namespace {

constexpr WorkerId kFirstMaker(1), kSecondMaker(2);
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class SlotLoansTest : public testing::Test {
 protected:
  // Lends a slot of a quarter of the arena.
  Slot Lend(std::uint32_t attempt, WorkerId worker, bool arena) {
    const std::optional<Slot> slot = loans_.Acquire(kMiB, false, true);
    EXPECT_TRUE(slot.has_value());
    loans_.Add(attempt, {.slot = *slot, .worker = worker, .ticket = 10 + attempt, .arena = arena});
    return *slot;
  }
  SlotLoans::OnLost Note() {
    return [this](std::uint32_t attempt, const Loan&) { lost_.push_back(attempt); };
  }
  std::vector<std::uint32_t> Lost() {
    std::ranges::sort(lost_);
    return std::exchange(lost_, {});
  }
  // What Next says without waiting.
  Code Trouble() { return mailbox_.Next(std::chrono::milliseconds(0), *clock_).status().code(); }

  std::shared_ptr<Arena> arena_ = *Arena::Make(4 * kMiB);
  BatchMailbox mailbox_{true};
  SlotLoans loans_{arena_, mailbox_};
  std::vector<std::uint32_t> lost_;
  std::shared_ptr<Clock> clock_ = std::make_shared<FakeClock>();
};

TEST_F(SlotLoansTest, AnAnswerTakesItsLoanOnce) {
  Lend(1, kFirstMaker, true);
  EXPECT_FALSE(loans_.Take(1, kSecondMaker));
  const std::optional<Loan> loan = loans_.Take(1, kFirstMaker);
  ASSERT_TRUE(loan);
  EXPECT_EQ(loan->ticket, 11);
  EXPECT_FALSE(loans_.Take(1, kFirstMaker));
  EXPECT_EQ(arena_->counts().lent, 1) << "its slot is the caller's";
  loans_.Return(loan->slot.id);
  loans_.Return(SlotId());
  EXPECT_EQ(arena_->counts().lent, 0);
}

TEST_F(SlotLoansTest, AWorkerThatEndedWritesNowhere) {
  Lend(1, kFirstMaker, true);
  Lend(2, kFirstMaker, false);
  Lend(3, kSecondMaker, false);
  EXPECT_TRUE(loans_.Owes(kSecondMaker));
  EXPECT_TRUE(loans_.Writes(kFirstMaker));
  EXPECT_FALSE(loans_.Writes(kSecondMaker));
  loans_.End(kFirstMaker, Note());
  EXPECT_EQ(Lost(), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_FALSE(loans_.Owes(kFirstMaker));
  EXPECT_EQ(arena_->counts().lent, 1);
}

TEST_F(SlotLoansTest, AWorkerThatForgotMayStillWrite) {
  Lend(1, kFirstMaker, true);
  Lend(2, kFirstMaker, false);
  Lend(3, kSecondMaker, false);
  loans_.Forget(kFirstMaker, Note());
  EXPECT_EQ(Lost(), std::vector<std::uint32_t>{2});
  EXPECT_TRUE(loans_.Writes(kFirstMaker));
  EXPECT_TRUE(loans_.Owes(kSecondMaker));
  EXPECT_EQ(arena_->counts().lent, 2);
}

TEST_F(SlotLoansTest, OnlyWhatAWorkerWritesItselfIsQuarantined) {
  Lend(1, kFirstMaker, true);
  Lend(2, kFirstMaker, false);
  Lend(3, kSecondMaker, true);
  loans_.Quarantine(kFirstMaker);
  EXPECT_EQ(arena_->counts().quarantined, 1);
  EXPECT_EQ(arena_->counts().lent, 2);
}

TEST_F(SlotLoansTest, WhileAnAnswerMayComeNobodyIsTold) {
  for (std::uint32_t i = 0; i < 4; ++i) Lend(i, kFirstMaker, true);
  EXPECT_FALSE(loans_.starved());
  EXPECT_FALSE(loans_.Acquire(kMiB, false, true));
  EXPECT_TRUE(loans_.starved());
  EXPECT_NE(Trouble(), Code::kResourceExhausted);
  loans_.Forget(kFirstMaker, Note());
  EXPECT_FALSE(loans_.Acquire(kMiB, true, true)) << "another answer is being looked at";
  EXPECT_NE(Trouble(), Code::kResourceExhausted);
  EXPECT_FALSE(loans_.Acquire(kMiB, false, true));
  EXPECT_EQ(Trouble(), Code::kResourceExhausted);
}

TEST_F(SlotLoansTest, WhatIsStarvedNoMoreIsNoTrouble) {
  for (std::uint32_t i = 0; i < 4; ++i) Lend(i, kFirstMaker, true);
  loans_.Forget(kFirstMaker, Note());
  EXPECT_FALSE(loans_.Acquire(kMiB, false, true));
  loans_.SetStarved(true);
  loans_.SetStarved(false);
  EXPECT_FALSE(loans_.starved());
  EXPECT_NE(Trouble(), Code::kResourceExhausted);
}

TEST_F(SlotLoansTest, TheNextBatchGoesBeyondTheBoundWhileLaterOnesHaveTheMemory) {
  for (std::uint32_t i = 0; i < 4; ++i) {
    const Slot slot = Lend(i, kFirstMaker, true);
    (void)loans_.Take(i, kFirstMaker);
    arena_->MarkReady(slot.id);
  }
  EXPECT_FALSE(loans_.Acquire(kMiB, false, false)) << "a later one gets none of it";
  EXPECT_NE(Trouble(), Code::kResourceExhausted) << "nor is the trainer told of that";
  const std::optional<Slot> slot = loans_.Acquire(kMiB, false, true);
  ASSERT_TRUE(slot);
  loans_.Return(slot->id);  // it could not be sent, or its worker refused it
  EXPECT_FALSE(loans_.Acquire(kMiB, false, false)) << "it stays the next one's";
  EXPECT_TRUE(loans_.Acquire(kMiB, false, true));
}

}  // namespace
}  // namespace headrace::client
