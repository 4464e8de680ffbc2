#include "dataworker/peers/peer_fixture.h"

namespace headrace::dataworker::peer_tests {
namespace {

TEST_F(PeerTest, WhoAsksFirstMakesTheEntryAndAllFindIt) {
  auto first = Ask(7);
  EXPECT_FALSE(first.pin);
  ASSERT_TRUE(first.claim);
  const auto second = Begin(7);  // while the first one makes it
  Await([&] { return finds_.size() == 3 && finds_.back().wait; });
  EXPECT_TRUE(Ask(8).claim) << "nobody else waits for that";
  EXPECT_EQ(second->answers, 0);
  Make(first.claim, 7);
  Await([&] { return second->answers == 1; });
  EXPECT_TRUE(second->answer.pin);
  second->answer = {};
  EXPECT_EQ(store_->Stats().entries, 1U);
  for (int i = 0; i < 3; ++i) {
    const auto found = Ask(7);
    ASSERT_TRUE(found.pin);
    EXPECT_TRUE(Equal(found.pin.bytes(), Payload(7, 0, kBytes)));
  }
  EXPECT_EQ(store_->Stats().entries, 1U);
  EXPECT_EQ(Job().hits, 4U);
}

TEST_F(PeerTest, WhoeverMakesItMayFailAndThenTheNextOneDoes) {
  auto first = Ask(7);
  const auto second = Begin(7), third = Begin(7);
  Await([&] { return finds_.size() >= 3 && finds_.back().wait; });
  first.claim.reset();
  Await([&] { return second->answers + third->answers == 1; });
  const auto& next = second->answers == 1 ? second : third;
  ASSERT_TRUE(next->answer.claim);
  Make(next->answer.claim, 7);
  Await([&] { return second->answers + third->answers == 2; });
  EXPECT_TRUE((next == second ? third : second)->answer.pin);
}

TEST_F(PeerTest, NobodyWaitsLongForAnEntryThatAnotherOneMakes) {
  const auto first = Ask(7);
  const auto second = Begin(7);
  Await([&] { return finds_.size() >= 2 && finds_.back().wait; });
  for (int tick = 0; tick < 2; ++tick) Advance(std::chrono::milliseconds(150));
  Await([&] { return second->answers == 1; });
  EXPECT_FALSE(second->answer.pin);
  EXPECT_FALSE(second->answer.claim);
  // It is an old one now.
  const auto third = Ask(7);
  EXPECT_FALSE(third.pin || third.claim);
  EXPECT_TRUE(Ask(8).claim) << "the owner is not mute";
}

// What an entry took to make says what it is worth.
TEST_F(PeerTest, AnEntrysCostGoesWithItToTheOwner) {
  std::vector<SampleStore::Tier> tiers;
  auto tier = std::make_unique<FakeSlowTier>(std::uint64_t{8} << 20, 1);
  FakeSlowTier& slow = *tier;
  tiers.push_back({"slow", std::move(tier)});
  const auto store = std::make_shared<SampleStore>(std::move(tiers));
  RunOn(*reactor_, [&] {
    desk_ = std::make_unique<PeerDesk>(
        PeerDesk::Parts{*reactor_, executor_, store, kToken,
                        [this](const std::string& peer, const wire::Body& body,
                               const std::vector<net::PayloadFrame>& payload) {
                          EXPECT_TRUE(socket_->Send(peer, body, payload).ok());
                        }});
    desk_->OnDirective(Directive(kAsker, ""));
    store->SetQuota(kJob, StoreQuota{.bytes = kNoQuota});
  });
  Make(Ask(7).claim, 7);
  EXPECT_EQ(slow.costs(), std::vector<Duration>{kCost});
  RunOn(*reactor_, [&] { desk_.reset(); });
}

TEST_F(PeerTest, NewerContentIsAMissAndReplacesTheOlder) {
  Make(Ask(7).claim, 7);
  const auto newer = Ask(7, 1);
  EXPECT_FALSE(newer.pin);
  EXPECT_TRUE(newer.claim);
  EXPECT_EQ(store_->Stats().entries, 0U);
}

TEST_F(PeerTest, AClaimThatIsGivenBackIsTheNextAskers) {
  auto first = Ask(7);
  ASSERT_TRUE(first.claim);
  first.claim.reset();
  Await([&] { return puts_ == 1; });
  EXPECT_TRUE(Ask(7).claim);
}

TEST_F(PeerTest, AClaimIsVoidAfterATime) {
  auto first = Ask(7);
  ASSERT_TRUE(first.claim);
  Advance(PeerDesk::kClaimFor);
  Await([&] { return desk_->claims() == 0; });
  ASSERT_TRUE(first.claim->Commit(Payload(7, 0, kBytes), {}));
  Await([&] { return puts_ == 1; });
  EXPECT_EQ(store_->Stats().entries, 0U);
  EXPECT_TRUE(Ask(7).claim);
}

TEST_F(PeerTest, EntriesCountInTheJobsQuotaAtTheOwner) {
  store_->SetQuota(kJob, StoreQuota{.bytes = 1 << 20});
  std::uint64_t stored = 0;
  for (std::uint64_t inode = 0; inode < 100; ++inode) {
    auto answer = Ask(inode);
    if (!answer.claim) continue;
    Make(answer.claim, inode);
    ++stored;
  }
  EXPECT_NEAR(static_cast<double>(stored), 34, 3);
  EXPECT_LE(Job().bytes, std::uint64_t{1} << 20);
  for (std::uint64_t inode = 0; inode < stored; ++inode) EXPECT_TRUE(Ask(inode).pin);
}

TEST_F(PeerTest, QuestionsGoTogetherInFewMessages) {
  std::vector<std::shared_ptr<Told>> told;
  RunOn(*reactor_, [&] {
    for (std::uint64_t inode = 0; inode < PeerCache::kMostAsked; ++inode) {
      told.push_back(Begin(inode));
    }
  });
  for (const auto& each : told) Await([&] { return each->answers == 1; });
  EXPECT_EQ(finds_.size(), 1U);
}

TEST_F(PeerTest, AJobHasNoMoreThanItsPlacesInFlight) {
  for (std::uint64_t inode = 0; inode < PeerCache::kMostAsked + 1; ++inode) {
    Make(Ask(inode).claim, inode);
  }
  std::vector<PeerCache::Answer> held;
  for (std::uint64_t inode = 0; inode < PeerCache::kMostAsked; ++inode) held.push_back(Ask(inode));
  const auto waits = Begin(PeerCache::kMostAsked);
  const std::size_t asked = finds_.size();
  for (int i = 0; i < 20; ++i) RunOn(*reactor_, [] {});
  EXPECT_EQ(finds_.size(), asked);
  EXPECT_EQ(waits->answers, 0);
  held.pop_back();
  Await([&] { return waits->answers == 1; });
  EXPECT_TRUE(waits->answer.pin);
}

TEST_F(PeerTest, AnOwnerThatIsSilentCostsABoundedTimeAndThenNone) {
  RunOn(*reactor_, [&] { mute_ = true; });
  const auto told = Begin(7);
  Await([&] { return finds_.size() == 1; });
  EXPECT_EQ(told->answers, 0);
  Advance(PeerLink::kAnswerWithin);
  Await([&] { return told->answers == 1; });
  EXPECT_FALSE(told->answer.pin);
  EXPECT_FALSE(told->answer.claim);
  EXPECT_FALSE(Ask(8).claim);  // is not asked at all for a while
  EXPECT_EQ(finds_.size(), 1U);
  RunOn(*reactor_, [&] { mute_ = false; });
  Advance(PeerLink::kMute);
  EXPECT_TRUE(Ask(9).claim);
}

TEST_F(PeerTest, AnOwnerThatDiesCostsNoTime) {
  RunOn(*reactor_, [&] { mute_ = true; });
  const auto told = Begin(7);
  Await([&] { return finds_.size() == 1; });
  RunOn(*reactor_, [&] { socket_.reset(); });
  Await([&] { return told->answers == 1; });  // the clock stands still
  EXPECT_FALSE(told->answer.claim);
}

TEST_F(PeerTest, AnAnswerThatDoesNotFitTheQuestionIsNone) {
  using enum wire::PeerAnswer;
  const Bytes entry = Payload(1, 0, kBytes);
  const net::PayloadFrame cut{entry, nullptr};  // it lacks the bytes after the entry
  const std::vector<std::pair<wire::PeerFound, std::vector<net::PayloadFrame>>> answers = {
      {{.answers = {kFound}, .sizes = {kBytes}}, {cut}},
      {{.answers = {kFound}, .sizes = {kBytes}}, {}},
      {{.answers = {kMake, kMake}}, {}},
      {{.answers = {}}, {}},
      {{.status = Unavailable("no"), .answers = {kMake}}, {}}};
  for (const auto& [answer, frames] : answers) {
    RunOn(*reactor_, [&] { mute_ = true; });
    const std::size_t asked = finds_.size();
    const auto told = Begin(7);
    Await([&] { return finds_.size() > asked; });
    RunOn(*reactor_, [&] {
      wire::PeerFound found = answer;
      found.request = finds_.back().request;
      ASSERT_TRUE(socket_->Send(peer_, found, frames).ok());
    });
    Await([&] { return told->answers == 1; });
    EXPECT_FALSE(told->answer.pin);
    EXPECT_FALSE(told->answer.claim);
  }
}

TEST_F(PeerTest, StopAnswersAllThatIsOpenAndLaterQuestions) {
  RunOn(*reactor_, [&] { mute_ = true; });
  const auto open = Begin(7);
  Await([&] { return finds_.size() == 1; });
  RunOn(*reactor_, [&] { peers_->Stop(); });
  EXPECT_EQ(open->answers, 1);
  EXPECT_EQ(Begin(8)->answers, 1);
  EXPECT_EQ(peers_->PlaceOf(kJob, Key(7)), PeerCache::Place::kHere);
}

TEST_F(PeerTest, ADirectiveWithoutThePeerEndsWhatIsOpen) {
  RunOn(*reactor_, [&] { mute_ = true; });
  const auto open = Begin(7);
  Await([&] { return finds_.size() == 1; });
  RunOn(*reactor_, [&] { peers_->OnDirective(kAsker, {}); });
  EXPECT_EQ(open->answers, 1);
  EXPECT_EQ(peers_->PlaceOf(kJob, Key(7)), PeerCache::Place::kHere);
}

TEST_F(PeerTest, ACoordinatorThatHasJustBegunChangesNothing) {
  RunOn(*reactor_, [&] {
    peers_->OnDirective(kAsker, {.jobs = {kJob}});
    desk_->OnDirective({.jobs = {kJob}});
  });
  EXPECT_EQ(peers_->PlaceOf(kJob, Key(7)), PeerCache::Place::kPeer);
  EXPECT_TRUE(Ask(7).claim);
}

TEST_F(PeerTest, WhoHasNoPassReadsAndWritesNothing) {
  Make(Ask(7).claim, 7);
  for (const std::string& pass :
       {std::string(), PassOf(kToken, kJob), PeerPassOf(kToken, kOther, kAsker),
        PeerPassOf(kToken, kJob, kThird), PeerPassOf("another token", kJob, kAsker)}) {
    RunOn(*reactor_, [&] { peers_->OnDirective(kAsker, Directive(kOwner, pass)); });
    EXPECT_FALSE(Ask(7).pin);
    EXPECT_FALSE(Ask(8).claim);
  }
  EXPECT_EQ(store_->Stats().entries, 1U);
}

// Of another job's pass too: the job must share its samples here.
TEST_F(PeerTest, AJobThatDoesNotShareHereGetsNothing) {
  RunOn(*reactor_, [&] { desk_->OnDirective({}); });
  EXPECT_FALSE(Ask(7).claim);
}

TEST_F(PeerTest, NothingIsTakenWithoutAClaimOfTheSender) {
  const auto put = [&](WorkerId worker, std::uint64_t inode) {
    const Bytes frame = Payload(9, 9, kBytes + ScratchBuffer::kSlack);
    RunOn(*reactor_, [&] {
      net::Incoming incoming;
      incoming.payload = {ByteSpan(frame)};
      desk_->OnPut(incoming, {.worker = worker,
                              .job = kJob,
                              .pass = PeerPassOf(kToken, kJob, worker),
                              .key = WordsOf(Key(inode))});
      executor_.RunAll();
    });
  };
  put(kAsker, 7);
  auto claimed = Ask(8);
  ASSERT_TRUE(claimed.claim);
  put(kThird, 8);
  EXPECT_EQ(store_->Stats().entries, 0U);
  Make(claimed.claim, 8);
  const auto found = Ask(8);
  EXPECT_TRUE(Equal(found.pin.bytes(), Payload(8, 0, kBytes)));
}

}  // namespace
}  // namespace headrace::dataworker::peer_tests
