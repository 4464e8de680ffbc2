// Both halves of what workers share: PeerCache asks, PeerDesk answers, over a socket.
#include <unistd.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/pass/pass.h"
#include "dataworker/cache/cache_fixture.h"
#include "dataworker/cache/memory/memory_cache.h"
#include "dataworker/exec/inline_executor.h"
#include "dataworker/peers/cache_lease.h"
#include "dataworker/peers/peer_cache.h"
#include "dataworker/peers/peer_desk.h"
#include "gtest/gtest.h"
#include "net/test_util.h"

namespace headrace::dataworker {
namespace {

using net::testing::RunOn;

constexpr WorkerId kAsker(1), kOwner(2), kThird(3);
constexpr const char* kToken = "the token of the owner";
constexpr std::size_t kBytes = 30'000;

std::shared_ptr<SampleStore> MakeStore(std::uint64_t bytes) {
  std::vector<SampleStore::Tier> tiers;
  tiers.push_back({"memory", MakeMemoryCache(bytes)});
  return std::make_shared<SampleStore>(std::move(tiers));
}

// What a question was answered with.
struct Told {
  int answers = 0;
  PeerCache::Answer answer;
};

class PeerTest : public testing::Test {
 protected:
  PeerTest() {
    reactor_ = *net::Reactor::Make("peers", clock_);
    EXPECT_TRUE(reactor_->Start().ok());
    RunOn(*reactor_, [this] {
      net::SocketEvents events;
      events.on_message = [this](net::Incoming&& incoming) { OnMessage(incoming); };
      socket_ = *reactor_->BindRouter(endpoint_, std::move(events));
      desk_ = std::make_unique<PeerDesk>(
          PeerDesk::Parts{*reactor_, executor_, store_, kToken,
                          [this](const std::string& peer, const wire::Body& body,
                                 const std::vector<net::PayloadFrame>& payload) {
                            EXPECT_TRUE(mute_ || socket_->Send(peer, body, payload).ok());
                          }});
      desk_->OnDirective(Directive(kAsker, ""));
      peers_ = PeerCache::Make(*reactor_);
      peers_->OnDirective(kAsker, Directive(kOwner, PeerPassOf(kToken, kJob, kAsker)));
    });
    store_->SetQuota(kJob, StoreQuota{.bytes = kNoQuota});
  }
  ~PeerTest() override {
    RunOn(*reactor_, [this] {
      peers_->Stop();
      executor_.Stop();
      desk_.reset();
      socket_.reset();
    });
    reactor_->Stop();
  }

  // Says that the receiver and `peer` share the job's samples, and that all of them are the peer's.
  [[nodiscard]] wire::WorkerDirective Directive(WorkerId peer, const std::string& pass) const {
    wire::JobGrant grant{.job = kJob};
    grant.peers = {{peer, endpoint_, 1 << 20, pass}};
    return {.jobs = {kJob}, .grants = {grant}};
  }
  void OnMessage(const net::Incoming& incoming) {
    if (const auto* find = std::get_if<wire::PeerFind>(&incoming.body)) {
      finds_.push_back(*find);
      peer_ = incoming.peer;
      desk_->OnFind(incoming.peer, *find);
    } else if (const auto* put = std::get_if<wire::PeerPut>(&incoming.body)) {
      ++puts_;
      desk_->OnPut(incoming, *put);
    }
  }

  // Lets messages pass until something is so.
  void Await(const std::function<bool()>& is_so) {
    bool so = false;
    while (!so) {
      RunOn(*reactor_, [&] {
        executor_.RunAll();
        so = is_so();
      });
    }
  }
  std::shared_ptr<Told> Begin(std::uint64_t inode, std::int64_t version = 0) {
    auto told = std::make_shared<Told>();
    peers_->Ask(kJob, Key(inode, version), [told](PeerCache::Answer answer) {
      ++told->answers;
      told->answer = std::move(answer);
    });
    return told;
  }
  PeerCache::Answer Ask(std::uint64_t inode, std::int64_t version = 0) {
    const auto told = Begin(inode, version);
    Await([&] { return told->answers > 0; });
    EXPECT_EQ(told->answers, 1);
    return std::exchange(told->answer, {});
  }
  // Hands over the entry that a claim is for, and waits until the owner has seen it.
  void Make(const std::shared_ptr<PeerClaim>& claim, std::uint64_t inode) {
    ASSERT_TRUE(claim);
    const int before = puts_;
    ASSERT_TRUE(claim->Commit(Payload(inode, 0, kBytes)));
    Await([&] { return puts_ > before && executor_.queued() == 0; });
  }
  // What the owner keeps of the job.
  [[nodiscard]] JobCacheStats Job() const {
    const auto stats = store_->JobStats();
    return stats.empty() ? JobCacheStats{} : stats.front().all;
  }
  void Advance(Duration by) {
    RunOn(*reactor_, [&] { clock_.Advance(by); });
  }

  FakeClock clock_;
  const std::string endpoint_ =
      "ipc://" + testing::TempDir() + "peers-" + std::to_string(::getpid()) + "-" +
      std::to_string(testing::UnitTest::GetInstance()->current_test_info()->line());
  InlineExecutor executor_;
  std::shared_ptr<SampleStore> store_ = MakeStore(std::uint64_t{8} << 20);
  std::unique_ptr<net::Reactor> reactor_;
  // On the reactor's thread:
  std::unique_ptr<net::Socket> socket_;
  std::unique_ptr<PeerDesk> desk_;
  std::vector<wire::PeerFind> finds_;
  std::string peer_;  // who asked last
  int puts_ = 0;
  bool mute_ = false;
  std::shared_ptr<PeerCache> peers_;
};

TEST_F(PeerTest, WhoAsksFirstMakesTheEntryAndAllFindIt) {
  auto first = Ask(7);
  EXPECT_FALSE(first.pin);
  ASSERT_TRUE(first.claim);
  const auto second = Ask(7);  // while the first one makes it
  EXPECT_FALSE(second.pin);
  EXPECT_FALSE(second.claim);
  Make(first.claim, 7);
  EXPECT_EQ(store_->Stats().entries, 1U);
  for (int i = 0; i < 3; ++i) {
    const auto found = Ask(7);
    ASSERT_TRUE(found.pin);
    EXPECT_TRUE(Equal(found.pin.bytes(), Payload(7, 0, kBytes)));
  }
  EXPECT_EQ(store_->Stats().entries, 1U);
  EXPECT_EQ(Job().hits, 3U);
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
  ASSERT_TRUE(first.claim->Commit(Payload(7, 0, kBytes)));
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
  EXPECT_FALSE(peers_->Elsewhere(kJob, Key(7)));
}

TEST_F(PeerTest, ADirectiveWithoutThePeerEndsWhatIsOpen) {
  RunOn(*reactor_, [&] { mute_ = true; });
  const auto open = Begin(7);
  Await([&] { return finds_.size() == 1; });
  RunOn(*reactor_, [&] { peers_->OnDirective(kAsker, {}); });
  EXPECT_EQ(open->answers, 1);
  EXPECT_FALSE(peers_->Elsewhere(kJob, Key(7)));
}

TEST_F(PeerTest, ACoordinatorThatHasJustBegunChangesNothing) {
  RunOn(*reactor_, [&] {
    peers_->OnDirective(kAsker, {.jobs = {kJob}});
    desk_->OnDirective({.jobs = {kJob}});
  });
  EXPECT_TRUE(peers_->Elsewhere(kJob, Key(7)));
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

// What a worker kept before another one owned it.
TEST_F(PeerTest, AnEntryThatLiesHereMovesToItsOwner) {
  const auto own = MakeStore(std::uint64_t{8} << 20);
  const CacheLease lease(own, kJob, kNoQuota, peers_);
  ASSERT_TRUE(Put(*own, kJob, 7, kBytes));
  const CacheLookup stopped = lease.Find(Key(7));
  ASSERT_TRUE(stopped.later);
  std::optional<CacheLookup> found;
  lease.FindLater(Key(7), stopped, [&](CacheLookup answer) { found = std::move(answer); });
  Await([&] { return puts_ == 1 && store_->Stats().entries == 1; });
  ASSERT_TRUE(found && found->pin);
  EXPECT_TRUE(Equal(found->pin.bytes(), Payload(7, 0, kBytes)));
  EXPECT_EQ(own->Stats().entries, 0U);
  EXPECT_TRUE(Ask(7).pin);
}

// To make a small entry costs less than to ask for it.
TEST_F(PeerTest, SmallEntriesStayWhereTheyAreMadeAndNobodyIsAsked) {
  const std::shared_ptr<PeerCache> picky = PeerCache::Make(*reactor_, 2 * kBytes);
  RunOn(*reactor_,
        [&] { picky->OnDirective(kAsker, Directive(kOwner, PeerPassOf(kToken, kJob, kAsker))); });
  const auto own = MakeStore(std::uint64_t{8} << 20);
  {
    const CacheLease lease(own, kJob, kNoQuota, picky);
    EXPECT_TRUE(lease.Find(Key(1)).later) << "nobody knows yet how large they are";
    CacheLookup found;
    EXPECT_TRUE(lease.TryClaim(Key(1), kBytes, found)) << "the first one tells";
    EXPECT_FALSE(lease.Find(Key(2)).later);
    auto claim = lease.TryClaim(Key(2), kBytes, found);
    ASSERT_TRUE(claim);
    EXPECT_TRUE(claim.Commit(Payload(2, 0, kBytes)));
    EXPECT_TRUE(lease.Find(Key(2)).pin);
    // They become larger: some, and then all.
    for (int i = 0; i < 100; ++i) (void)lease.TryClaim(Key(3), 4 * kBytes, found);
    EXPECT_TRUE(lease.Find(Key(4)).later);
  }
  RunOn(*reactor_, [&] { picky->Stop(); });
  EXPECT_EQ(finds_.size(), 0U);
}

TEST_F(PeerTest, AnEntryIsStoredAtItsOwnerAlone) {
  const auto own = MakeStore(std::uint64_t{8} << 20);
  const CacheLease lease(own, kJob, kNoQuota, peers_);
  EXPECT_FALSE(lease.TryClaim(Key(7), kBytes, {}));  // nobody gave the right to make it
  CacheLookup found;
  found.claim = Ask(7).claim;
  EXPECT_FALSE(
      lease.TryClaim(Key(7, 1), kBytes, found));  // it was read newer than it was looked for
  auto claim = lease.TryClaim(Key(7), kBytes, found);
  ASSERT_TRUE(claim);
  EXPECT_TRUE(claim.Commit(Payload(7, 0, kBytes)));
  Await([&] { return store_->Stats().entries == 1; });
  EXPECT_EQ(own->Stats().entries, 0U);
}

}  // namespace
}  // namespace headrace::dataworker
