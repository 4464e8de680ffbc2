#pragma once

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
#include "dataworker/cache/fake_slow_tier.h"
#include "dataworker/cache/memory/memory_cache.h"
#include "dataworker/exec/inline_executor.h"
#include "dataworker/peers/cache_lease.h"
#include "dataworker/peers/peer_cache.h"
#include "dataworker/peers/peer_desk.h"
#include "gtest/gtest.h"
#include "net/test_util.h"

namespace headrace::dataworker::peer_tests {

using net::testing::RunOn;

inline constexpr WorkerId kAsker(1), kOwner(2), kThird(3);
inline constexpr const char* kToken = "the token of the owner";
inline constexpr std::size_t kBytes = 30'000;
inline constexpr Duration kCost = std::chrono::milliseconds(7);  // of an entry

inline std::shared_ptr<SampleStore> MakeStore(std::uint64_t bytes) {
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
                            frames_ += payload.size();
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
    ASSERT_TRUE(claim->Commit(Payload(inode, 0, kBytes), kCost));
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
  std::size_t frames_ = 0;  // entries that the owner sent
  bool mute_ = false;
  std::shared_ptr<PeerCache> peers_;
};

}  // namespace headrace::dataworker::peer_tests
