#include "web/event_feed.h"

#include <array>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::web {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FakeConnection final : public HttpConnection {
 public:
  void Pause() override { paused = true; }
  void Resume() override {
    EXPECT_TRUE(paused) << "nobody is woken who does not sleep";
    paused = false;
  }
  bool paused = false;
};

// A listener that reads `block` bytes at a time.
struct Peer {
  explicit Peer(EventFeed& feed, std::size_t block_size = 7)
      : stream(feed.Listen()), block(block_size) {}

  // Reads what there is. False: the end.
  bool ReadAll() {
    while (!connection.paused) {
      if (!ReadOne()) return false;
    }
    return true;
  }
  bool ReadOne() {
    std::vector<char> into(block);
    const auto got = stream->Read(connection, into);
    if (!got) return false;
    EXPECT_EQ(*got == 0, connection.paused);
    text.append(into.data(), *got);
    return true;
  }
  // The data of the events so far, which are forgotten.
  std::vector<std::string> Events() {
    std::vector<std::string> events;
    for (std::size_t end; (end = text.find("\n\n")) != std::string::npos; text.erase(0, end + 2)) {
      const std::size_t data = text.find("\ndata: ");
      EXPECT_LT(data, end);
      events.push_back(text.substr(data + 7, end - data - 7));
    }
    return events;
  }

  FakeConnection connection;
  std::unique_ptr<HttpStream> stream;
  const std::size_t block;
  std::string text;
};

class EventFeedTest : public testing::Test {
 protected:
  EventFeed::Next next_ = [this] {
    ++made_;
    ++number_;
    return FeedFrame{number_, "+" + std::to_string(number_)};
  };
  EventFeed::Whole whole_ = [this] {
    ++whole_made_;
    return "=" + std::to_string(number_);
  };
  std::uint64_t number_ = 0;
  int made_ = 0, whole_made_ = 0;
  EventFeed feed_{next_, whole_, 3};
};

TEST_F(EventFeedTest, AnEventHasItsNumberItsNameAndOneLineOfData) {
  EXPECT_EQ(EventText(3, "{}"), "id: 3\nevent: frame\ndata: {}\n\n");
}

TEST_F(EventFeedTest, TheFirstEventIsWholeAndOthersAreChanges) {
  Peer peer(feed_);
  ASSERT_TRUE(peer.ReadAll());
  EXPECT_THAT(peer.Events(), IsEmpty());
  feed_.Publish();
  ASSERT_TRUE(peer.ReadAll());
  feed_.Publish();
  ASSERT_TRUE(peer.ReadAll());
  EXPECT_THAT(peer.Events(), ElementsAre("=1", "+2"));
  Peer late(feed_);
  ASSERT_TRUE(late.ReadAll());
  EXPECT_THAT(late.Events(), ElementsAre("=2")) << "without another frame";
  feed_.Publish();
  ASSERT_TRUE(late.ReadAll());
  ASSERT_TRUE(peer.ReadAll());
  EXPECT_THAT(late.Events(), ElementsAre("+3"));
  EXPECT_THAT(peer.Events(), ElementsAre("+3"));
}

TEST_F(EventFeedTest, AFrameIsMadeOnceWhoeverListens) {
  Peer a(feed_), b(feed_), c(feed_);
  for (int round = 0; round < 5; ++round) {
    feed_.Publish();
    for (Peer* each : {&a, &b, &c}) ASSERT_TRUE(each->ReadAll());
  }
  EXPECT_EQ(made_, 5);
  EXPECT_EQ(whole_made_, 1);
}

TEST_F(EventFeedTest, NothingIsMadeWhileNobodyListens) {
  for (int round = 0; round < 5; ++round) feed_.Publish();
  EXPECT_EQ(made_, 0);
  Peer peer(feed_);
  ASSERT_TRUE(peer.ReadAll());
  EXPECT_THAT(peer.Events(), ElementsAre("=1"));
}

// A listener that is slow gets what it began, and then all of the newest frame; others see each frame.
TEST_F(EventFeedTest, ASlowListenerMissesFramesAndHoldsOne) {
  Peer slow(feed_, 1), quick(feed_);
  feed_.Publish();
  ASSERT_TRUE(slow.ReadAll());
  ASSERT_TRUE(quick.ReadAll());
  feed_.Publish();
  ASSERT_TRUE(slow.ReadOne());
  ASSERT_TRUE(quick.ReadAll());
  for (int round = 0; round < 5; ++round) {
    feed_.Publish();
    ASSERT_TRUE(quick.ReadAll());
  }
  ASSERT_TRUE(slow.ReadAll());
  EXPECT_THAT(slow.Events(), ElementsAre("=1", "+2", "=7"));
  EXPECT_THAT(quick.Events(), ElementsAre("=1", "+2", "+3", "+4", "+5", "+6", "+7"));
}

TEST_F(EventFeedTest, ThereAreOnlySoManyListeners) {
  Peer a(feed_), b(feed_);
  {
    Peer c(feed_);
    EXPECT_NE(c.stream, nullptr);
    EXPECT_EQ(feed_.Listen(), nullptr);
    EXPECT_EQ(feed_.listeners(), 3u);
  }
  EXPECT_NE(feed_.Listen(), nullptr) << "one has gone";
}

TEST_F(EventFeedTest, CloseEndsThem) {
  Peer waiting(feed_), busy(feed_, 1);
  feed_.Publish();
  ASSERT_TRUE(waiting.ReadAll());
  ASSERT_TRUE(busy.ReadOne());
  feed_.Close();
  EXPECT_FALSE(waiting.connection.paused) << "it is woken, to hear of the end";
  EXPECT_FALSE(waiting.ReadAll());
  EXPECT_FALSE(busy.ReadAll()) << "after what it has begun";
  EXPECT_THAT(busy.Events(), ElementsAre("=1"));
  EXPECT_EQ(feed_.Listen(), nullptr);
  feed_.Publish();
  feed_.Close();
}

// Whatever comes in which order: what a listener has put together is the last frame.
TEST_F(EventFeedTest, EachListenerEndsUpWithTheLastFrame) {
  const unsigned seed = testing::UnitTest::GetInstance()->random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 rng(seed);
  std::vector<std::unique_ptr<Peer>> peers;
  std::vector<std::uint64_t> has;
  const auto follow = [&](std::size_t at) {
    for (const std::string& event : peers[at]->Events()) {
      const std::uint64_t number = std::stoull(event.substr(1));
      if (event[0] == '+') {
        ASSERT_EQ(number, has[at] + 1);
      }
      ASSERT_GT(number, has[at]);
      has[at] = number;
    }
  };
  for (int round = 0; round < 2000; ++round) {
    if (rng() % 50 == 0 && !peers.empty()) {
      peers.erase(peers.begin());
      has.erase(has.begin());
    }
    if (peers.size() < 3 && rng() % 4 == 0) {
      peers.push_back(std::make_unique<Peer>(feed_, 1 + rng() % 9));
      has.push_back(0);
    }
    if (rng() % 3 == 0) feed_.Publish();
    for (std::size_t at = 0; at < peers.size(); ++at) {
      for (auto reads = rng() % 8; reads > 0 && !peers[at]->connection.paused; --reads) {
        ASSERT_TRUE(peers[at]->ReadOne());
      }
      ASSERT_NO_FATAL_FAILURE(follow(at));
    }
  }
  feed_.Publish();
  for (std::size_t at = 0; at < peers.size(); ++at) {
    ASSERT_TRUE(peers[at]->ReadAll());
    ASSERT_NO_FATAL_FAILURE(follow(at));
    EXPECT_EQ(has[at], number_);
  }
}

}  // namespace
}  // namespace headrace::web
