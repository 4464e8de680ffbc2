#include "net/fault_reactor.h"

#include <algorithm>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A reactor without a network: a socket's messages come straight back to it. Timers run when the
// test says.
class LoopReactor final : public Reactor {
 public:
  Status Start() override { return Status::Ok(); }
  Status Run() override { return Status::Ok(); }
  void Stop() override {}
  [[nodiscard]] bool OnThread() const override { return true; }
  void Post(std::function<void()> task) override { task(); }
  Result<std::unique_ptr<Socket>> BindRouter(const std::string&, SocketEvents events) override {
    return std::unique_ptr<Socket>(std::make_unique<LoopSocket>(std::move(events)));
  }
  Result<std::unique_ptr<Socket>> ConnectDealer(const std::string& endpoint,
                                                SocketEvents events) override {
    return BindRouter(endpoint, std::move(events));
  }
  TimerId AddTimer(Duration, std::function<void()>) override { return 0; }
  TimerId AddOnce(Duration delay, std::function<void()> callback) override {
    timers_.emplace_back(delay, std::move(callback));
    return timers_.size();
  }
  void CancelTimer(TimerId) override {}
  void WatchFd(int, std::function<void()>) override {}
  void UnwatchFd(int) override {}
  [[nodiscard]] Clock& clock() const override { return Clock::Real(); }

  void RunTimers() {
    auto timers = std::exchange(timers_, {});
    std::ranges::stable_sort(timers, {}, [](const auto& timer) { return timer.first; });
    for (auto& [delay, callback] : timers) callback();
  }

 private:
  class LoopSocket final : public Socket {
   public:
    explicit LoopSocket(SocketEvents events) : events_(std::move(events)) {}
    Status Send(std::string_view, const wire::Body& body, std::vector<PayloadFrame>) override {
      events_.on_message({.peer = "p", .body = body});
      return Status::Ok();
    }
    [[nodiscard]] const std::string& endpoint() const override { return endpoint_; }

   private:
    SocketEvents events_;
    std::string endpoint_ = "loop";
  };

  std::vector<std::pair<Duration, std::function<void()>>> timers_;
};

// Returns those of the numbers 0..count-1 that arrive.
std::vector<std::uint64_t> Through(const FaultRates& rates, std::uint64_t seed, int count) {
  LoopReactor loop;
  FaultReactor reactor(loop, rates, seed);
  std::vector<std::uint64_t> got;
  auto socket =
      std::move(reactor.ConnectDealer("x", {.on_message =
                                                [&](Incoming&& message) {
                                                  got.push_back(
                                                      std::get<wire::Ping>(message.body).sequence);
                                                }}))
          .value();
  for (int i = 0; i < count; ++i) {
    EXPECT_TRUE(socket->Send("", wire::Ping{static_cast<std::uint64_t>(i)}).ok());
  }
  loop.RunTimers();  // late messages; on their way in they may be late once more
  loop.RunTimers();
  return got;
}

std::size_t Distinct(std::vector<std::uint64_t> numbers) {
  std::ranges::sort(numbers);
  const auto repeated = std::ranges::unique(numbers);
  return numbers.size() - repeated.size();
}

TEST(FaultReactor, WithoutRatesNothingHappens) {
  const auto got = Through({}, 1, 100);
  EXPECT_EQ(got.size(), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(got));
}

TEST(FaultReactor, SameSeedSameFaults) {
  const FaultRates rates{.drop = 0.1, .duplicate = 0.1, .delay = 0.1, .reorder = 0.1};
  EXPECT_EQ(Through(rates, 5, 500), Through(rates, 5, 500));
  EXPECT_NE(Through(rates, 5, 500), Through(rates, 6, 500));
}

TEST(FaultReactor, DropsBothWays) {
  const auto got = Through({.drop = 0.5}, 2, 1000);
  EXPECT_GT(got.size(), 180u);  // 1000 * 0.5 * 0.5 = 250 on average
  EXPECT_LT(got.size(), 320u);
}

TEST(FaultReactor, DuplicatesAreWhole) {
  const auto got = Through({.duplicate = 0.5}, 3, 1000);
  EXPECT_EQ(Distinct(got), 1000u);
  EXPECT_GT(got.size(), 2000u);  // 1000 * 1.5 * 1.5 = 2250 on average
}

TEST(FaultReactor, LateAndReorderedOnesAllArrive) {
  for (const FaultRates& rates : {FaultRates{.delay = 0.3}, FaultRates{.reorder = 0.3}}) {
    const auto got = Through(rates, 4, 1000);
    EXPECT_EQ(got.size(), 1000u);
    EXPECT_EQ(Distinct(got), 1000u);
    EXPECT_FALSE(std::ranges::is_sorted(got));
  }
}

TEST(FaultReactor, HealedNetworkIsPerfect) {
  LoopReactor loop;
  FaultReactor reactor(loop, {.drop = 1}, 1);
  int got = 0;
  auto socket =
      std::move(reactor.BindRouter("x", {.on_message = [&](Incoming&&) { ++got; }})).value();
  (void)socket->Send("", wire::Ping{});
  EXPECT_EQ(got, 0);
  reactor.SetRates({});
  (void)socket->Send("", wire::Ping{});
  EXPECT_EQ(got, 1);
}

TEST(FaultReactor, ClosedSocketHearsNothingThatWasLate) {
  LoopReactor loop;
  FaultReactor reactor(loop, {.delay = 1}, 1);
  int got = 0;
  auto socket =
      std::move(reactor.BindRouter("x", {.on_message = [&](Incoming&&) { ++got; }})).value();
  (void)socket->Send("", wire::Ping{});
  socket.reset();
  loop.RunTimers();
  loop.RunTimers();
  EXPECT_EQ(got, 0);
}

}  // namespace
}  // namespace headrace::net
