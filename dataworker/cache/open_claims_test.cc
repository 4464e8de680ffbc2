#include "dataworker/cache/open_claims.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "dataworker/cache/cache_fixture.h"

namespace headrace::dataworker {
namespace {

class OpenClaimsTest : public testing::Test {
 protected:
  // What became of a wait; nothing: it is open.
  OpenClaims::Wait Await(std::optional<bool>& ended) {
    return claims_->Await(id_, [&ended](bool by_claim) { ended = by_claim; });
  }
  const EntryId id_ = EntryId::Of(Key(7));
  const std::shared_ptr<OpenClaims> claims_ = std::make_shared<OpenClaims>();
};

TEST_F(OpenClaimsTest, OneHasTheClaimAndTheOthersHearOfItsEnd) {
  EXPECT_EQ(claims_->Await(id_, {}), OpenClaims::Wait::kEnded);
  OpenClaims::Token token = claims_->Begin(id_);
  ASSERT_TRUE(token);
  EXPECT_FALSE(claims_->Begin(id_));
  EXPECT_TRUE(claims_->Begin(EntryId::Of(Key(8))));
  std::optional<bool> first, second;
  EXPECT_EQ(Await(first), OpenClaims::Wait::kWaits);
  EXPECT_EQ(Await(second), OpenClaims::Wait::kWaits);
  EXPECT_FALSE(first || second);
  token.reset();
  EXPECT_EQ(first, true);
  EXPECT_EQ(second, true);
  EXPECT_TRUE(claims_->Begin(id_));
}

// The first of those that waited may make it, while the others hear of the end.
TEST_F(OpenClaimsTest, WhoHearsMayBeginAtOnce) {
  OpenClaims::Token token = claims_->Begin(id_), next;
  std::optional<bool> second;
  OpenClaims::Wait again = OpenClaims::Wait::kEnded;
  claims_->Await(id_, [&](bool) { next = claims_->Begin(id_); });
  claims_->Await(id_, [&](bool) { again = Await(second); });
  token.reset();
  EXPECT_TRUE(next);
  EXPECT_EQ(again, OpenClaims::Wait::kWaits);
  next.reset();
  EXPECT_EQ(second, true);
}

TEST_F(OpenClaimsTest, AWaitIsBoundedAndAnOldClaimIsNotWaitedFor) {
  const OpenClaims::Token token = claims_->Begin(id_);
  std::optional<bool> early, late;
  Await(early);
  claims_->Tick();
  Await(late);
  EXPECT_FALSE(early || late);
  claims_->Tick();
  EXPECT_EQ(early, false);
  EXPECT_FALSE(late);
  std::optional<bool> too_late;
  EXPECT_EQ(Await(too_late), OpenClaims::Wait::kTooOld);
  claims_->Tick();
  EXPECT_EQ(late, false);
  EXPECT_FALSE(too_late);
}

TEST_F(OpenClaimsTest, CloseEndsAllWaitsAndClaimsMayOutliveIt) {
  OpenClaims::Token token = claims_->Begin(id_);
  std::optional<bool> open, later;
  Await(open);
  claims_->Close();
  EXPECT_EQ(open, false);
  EXPECT_EQ(Await(later), OpenClaims::Wait::kTooOld);
  token.reset();
}

}  // namespace
}  // namespace headrace::dataworker
