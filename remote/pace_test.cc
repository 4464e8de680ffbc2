// What a meter does to transfers, with a server that counts what it could send.
#include "remote/pace.h"

#include <condition_variable>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "remote/host_line.h"
#include "remote/http_fixture.h"

namespace headrace::remote {
namespace {

using What = ObjectRequest::What;
using std::chrono::hours;
using std::chrono::seconds;

// Lets so many bytes come as the test says.
class Allowance final : public Meter {
 public:
  Allowance(std::uint64_t rate, std::int64_t bytes) : rate_(rate), left_(bytes) {}
  std::uint64_t Rate() override { return rate_; }
  SteadyTime ReadyAt(SteadyTime now) override {
    const std::lock_guard lock(mutex_);
    refused_ |= left_ < 0;
    changed_.notify_all();
    return left_ >= 0 ? now : now + hours(1);
  }
  void Take(std::int64_t bytes, SteadyTime /*now*/) override {
    const std::lock_guard lock(mutex_);
    left_ -= bytes;
    taken_ += bytes;
  }
  void Give(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    left_ += bytes;
    refused_ = false;
  }
  void AwaitRefusal() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return refused_; });
  }
  std::int64_t taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }

 private:
  const std::uint64_t rate_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t left_, taken_ = 0;
  bool refused_ = false;
};
constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max() / 2;

// Asks without waiting.
class Asked {
 public:
  Asked(ObjectClient& client, ObjectRequest request) {
    client.Begin(std::move(request), [this](ObjectAnswer answer) {
      const std::lock_guard lock(mutex_);
      answer_ = std::move(answer);
      changed_.notify_all();
    });
  }
  bool done() const {
    const std::lock_guard lock(mutex_);
    return answer_.has_value();
  }
  const ObjectAnswer& Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return answer_.has_value(); });
    return *answer_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<ObjectAnswer> answer_;
};

class PaceTest : public testing::Test {
 protected:
  ObjectRequest RequestWith(const std::shared_ptr<Meter>& meter, const std::string& name,
                            What what = What::kWhole, std::uint64_t bytes = 1U << 30) {
    ObjectRequest request = RequestFor(server_, {}, name, what, bytes);
    request.meter = meter;
    return request;
  }
  static constexpr std::size_t kSize = 400'000;
  const std::string object_ = std::string(kSize, 'x');
  FakeHttp server_{[this](const FakeHttp::Query& query) {
    if (query.target.ends_with("busy") && ++tries_ < 3) {
      return FakeHttp::Reply{.status = 503, .body = std::string(1000, 'e')};
    }
    if (query.target.ends_with("silent")) return FakeHttp::Reply{.silent = true};
    return ReplyWith(query, object_, "\"v\"");
  }};
  std::atomic<int> tries_ = 0;
};

TEST_F(PaceTest, EveryByteIsPaidOnceHeadsAndVainTriesToo) {
  ObjectClient client(OptionsFor(server_));
  for (const std::uint64_t rate : {std::uint64_t{0}, std::uint64_t{1'000'000}}) {
    const auto meter = std::make_shared<Allowance>(rate, kAll);
    ASSERT_TRUE(Ask(client, RequestWith(meter, "x")).status.ok());
    const std::int64_t once = meter->taken();
    EXPECT_GT(once, static_cast<std::int64_t>(kSize)) << "a head as well";
    EXPECT_LT(once, static_cast<std::int64_t>(kSize) + 300);
    EXPECT_EQ(meter->MeanObject(), kSize);
    tries_ = 0;
    ASSERT_TRUE(Ask(client, RequestWith(meter, "busy")).status.ok());
    EXPECT_GT(meter->taken() - once, once + 2000) << "two errors before";
    EXPECT_LT(meter->taken() - once, once + 2300);
    const std::int64_t before = meter->taken();
    ASSERT_TRUE(Ask(client, RequestWith(meter, "x", What::kHead)).status.ok());
    EXPECT_LT(meter->taken() - before, 300) << "a head has no body";
  }
}

TEST_F(PaceTest, ATransferThatUsedItsMeterUpWaitsAndThenGoesOn) {
  ObjectClient client(OptionsFor(server_));
  const auto meter = std::make_shared<Allowance>(1'000'000, 100'000);
  Asked asked(client, RequestWith(meter, "x"));
  meter->AwaitRefusal();
  EXPECT_FALSE(asked.done());
  // A buffer that was read at once, and one that may have come.
  const auto buffer = static_cast<std::int64_t>(kReceiveBuffers[ReceiveBufferFor(1'000'000)]);
  EXPECT_GE(meter->taken(), 100'000);
  EXPECT_LE(meter->taken(), 100'000 + 2 * buffer);
  meter->Give(kAll);
  const ObjectAnswer& answer = asked.Wait();
  ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
  EXPECT_EQ(AsText(answer.bytes), object_);
}

TEST_F(PaceTest, NothingBeginsForAMeterThatIsUsedUpAndOthersGoOn) {
  ObjectClient client(OptionsFor(server_));
  const auto empty = std::make_shared<Allowance>(1'000'000, -1);
  const auto other = std::make_shared<Allowance>(1'000'000, kAll);
  std::vector<std::unique_ptr<Asked>> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.push_back(std::make_unique<Asked>(client, RequestWith(empty, "w")));
  }
  empty->AwaitRefusal();
  EXPECT_TRUE(Ask(client, RequestWith(other, "o")).status.ok());
  for (const FakeHttp::Query& query : server_.queries()) EXPECT_EQ(query.target, "/data/o");
  empty->Give(kAll);
  for (const auto& one : waiting) EXPECT_TRUE(one->Wait().status.ok());
}

TEST_F(PaceTest, TimeForWhichItIsHeldIsNotTheStores) {
  FakeClock clock;
  ClientOptions options = OptionsFor(server_);
  options.clock = &clock;
  options.retry.most_tries = 1;
  ObjectClient client(options);
  const auto meter = std::make_shared<Allowance>(1'000'000, 100'000);
  Asked asked(client, RequestWith(meter, "x"));
  meter->AwaitRefusal();
  // It could have read all the time. The thread looks again each 100 ms.
  clock.Advance(hours(2));
  meter->Give(100'000);
  meter->AwaitRefusal();
  clock.Advance(hours(2));
  meter->Give(kAll);
  EXPECT_TRUE(asked.Wait().status.ok()) << asked.Wait().status.ToString();
}

TEST_F(PaceTest, AStoreThatSaysNothingIsTooLateAllTheSame) {
  FakeClock clock;
  ClientOptions options = OptionsFor(server_);
  options.clock = &clock;
  options.retry.most_tries = 1;
  ObjectClient client(options);
  Asked asked(client, RequestWith(std::make_shared<Allowance>(1'000'000, kAll), "silent"));
  server_.AwaitQueries(1);
  clock.Advance(seconds(19));
  EXPECT_TRUE(
      Ask(client, RequestWith(std::make_shared<Allowance>(1'000'000, kAll), "x")).status.ok());
  EXPECT_FALSE(asked.done());
  clock.Advance(seconds(2));
  EXPECT_EQ(asked.Wait().status.code(), Code::kUnavailable);
}

TEST(HostLine, PayersTakeTurnsAndOneThatHasToWaitHoldsUpNobody) {
  const auto store = std::make_shared<const Store>(*Store::Make({.base = "https://h/data"}));
  const auto a = std::make_shared<Allowance>(1, 0), b = std::make_shared<Allowance>(1, 0);
  HostLine line;
  const auto push = [&](const std::shared_ptr<Meter>& meter, int number) {
    ObjectRequest request{.store = store, .meter = meter};
    TransferJob job;
    job.fetch = std::make_shared<ObjectFetch>(std::move(request), 1, [](ObjectAnswer) {});
    job.generation = job.fetch->generation();
    job.credentials = static_cast<std::uint64_t>(number);
    line.Push(job);
    return job.fetch;
  };
  const auto pop = [&](const Meter* held = nullptr) {
    const auto job =
        line.Pop([&](const TransferJob& next) { return held == nullptr || next.meter() != held; });
    return job ? static_cast<int>(job->credentials) : -1;
  };
  for (const int number : {1, 2, 3}) push(a, number);
  for (const int number : {11, 12, 13}) push(b, number);
  push(b, 14)->Fail(Unavailable("nobody waits for it"));
  const int first = pop(), second = pop();
  EXPECT_EQ(first + second, 12) << "one of each";
  EXPECT_EQ(pop(a.get()), 12);
  EXPECT_EQ(pop(a.get()), 13);
  EXPECT_EQ(pop(a.get()), -1);
  EXPECT_EQ(pop(), 2);
  EXPECT_EQ(pop(), 3);
  EXPECT_TRUE(line.empty());
}

}  // namespace
}  // namespace headrace::remote
