// Jobs receive objects by real sockets, on a clock that the test moves. What they pay for, which is what
// may cross the network (remote/receive_window.h), is held to their rates over each second.
#include "dataworker/share/read_meter.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dataworker/exec/inline_executor.h"
#include "gtest/gtest.h"
#include "remote/http_fixture.h"

namespace headrace::dataworker {
namespace {

using remote::FakeHttp;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr JobId kOne{1}, kTwo{2};
constexpr auto kSecond = static_cast<std::int64_t>(1e9);

unsigned MeterSeed() {
  const int given = ::testing::UnitTest::GetInstance()->random_seed();
  return given != 0 ? static_cast<unsigned>(given) : 20261128U;
}

// Notes what is paid, and when.
class Recorder final : public remote::Meter {
 public:
  Recorder(WorkQueue& queue, Clock& clock, JobId job) : meter_(queue, clock, job) {}
  std::uint64_t Rate() override { return meter_.Rate(); }
  SteadyTime ReadyAt(SteadyTime now) override { return meter_.ReadyAt(now); }
  void Take(std::int64_t bytes, SteadyTime now) override {
    meter_.Take(bytes, now);
    const std::lock_guard lock(mutex_);
    paid_.emplace_back(now.time_since_epoch().count(), bytes);
  }
  // In order of time.
  std::vector<std::pair<std::int64_t, std::int64_t>> paid() const {
    const std::lock_guard lock(mutex_);
    auto paid = paid_;
    std::ranges::stable_sort(paid, {}, &std::pair<std::int64_t, std::int64_t>::first);
    return paid;
  }

 private:
  ReadMeter meter_;
  mutable std::mutex mutex_;
  std::vector<std::pair<std::int64_t, std::int64_t>> paid_;
};

class ReadMeterTest : public ::testing::Test {
 protected:
  ~ReadMeterTest() override {
    stopped_ = true;
    client_.Stop();
    executor_.Stop();
  }

  void SetRate(JobId job, std::uint64_t rate) {
    queue_.SetLimits(job, {.source_bytes_per_second = rate});
    rates_[job].emplace_back(clock_.Now().time_since_epoch().count(), static_cast<double>(rate));
  }
  // Has the job always read objects of this size, so many at a time.
  void Read(JobId job, std::size_t bytes, int at_once) {
    if (!meters_[job]) meters_[job] = std::make_shared<Recorder>(queue_, clock_, job);
    for (int i = 0; i < at_once; ++i) Next(job, bytes);
  }
  // Moves the clock, as fast as the jobs use up what they may receive.
  void RunFor(seconds time) {
    const SteadyTime end = clock_.Now() + time;
    while (clock_.Now() < end) {
      SteadyTime next = SteadyTime::max();
      for (const auto& [job, meter] : meters_) {
        SteadyTime ready;
        while ((ready = queue_.MayReceive(job, clock_.Now()).at) <= clock_.Now()) {
          std::this_thread::yield();
        }
        next = std::min(next, ready);
      }
      // A timer may be late, by less than what is saved.
      clock_.Advance(next - clock_.Now() + nanoseconds(random_() % 5'000'000));
      client_.Cancel(&clock_);  // nothing is its, and the thread looks
    }
  }
  // Over each second in which the job read, it paid for what its rate allows, within 2%. `kept`: bytes of a
  // receive buffer that is larger than those of the rate, since it was made before.
  void ExpectPaced(JobId job, double kept = 0) {
    const auto paid = meters_.at(job)->paid();
    ASSERT_FALSE(paid.empty());
    double least = 10, most = 0;
    std::size_t end = 0;
    std::int64_t sum = 0;
    for (std::size_t begin = 0; begin < paid.size(); ++begin) {
      while (end < paid.size() && paid[end].first < paid[begin].first + kSecond) {
        sum += paid[end++].second;
      }
      if (end == paid.size()) break;
      if (begin == 0 || paid[begin].first != paid[begin - 1].first) {
        const double allowed = Allowed(job, paid[begin].first);
        least = std::min(least, static_cast<double>(sum) / allowed);
        most = std::max(most, (static_cast<double>(sum) - kept) / allowed);
      }
      sum -= paid[begin].second;
    }
    EXPECT_GE(least, 0.98);
    EXPECT_LE(most, 1.02);
  }

 private:
  void Next(JobId job, std::size_t bytes) {
    remote::ObjectRequest request = remote::RequestFor(server_, {}, std::to_string(bytes));
    request.meter = meters_.at(job);
    client_.Begin(std::move(request), [this, job, bytes](remote::ObjectAnswer answer) {
      if (stopped_) return;
      EXPECT_TRUE(answer.status.ok()) << answer.status.ToString();
      Next(job, bytes);
    });
  }
  // Bytes in the second that begins then.
  double Allowed(JobId job, std::int64_t begin) const {
    double bytes = 0;
    const auto& rates = rates_.at(job);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const std::int64_t from = std::max(begin, rates[i].first);
      const std::int64_t until =
          std::min(begin + kSecond, i + 1 < rates.size() ? rates[i + 1].first : begin + kSecond);
      bytes += std::max<double>(0, static_cast<double>(until - from)) * 1e-9 * rates[i].second;
    }
    return bytes;
  }

  FakeHttp server_{[](const FakeHttp::Query& query) {
    const std::size_t bytes = std::stoul(query.target.substr(query.target.rfind('/') + 1));
    return remote::ReplyWith(query, std::string(bytes, 'x'), "\"v\"");
  }};
  InlineExecutor executor_;
  std::mt19937_64 random_{MeterSeed()};
  std::atomic<bool> stopped_ = false;
  std::map<JobId, std::vector<std::pair<std::int64_t, double>>> rates_;
  std::map<JobId, std::shared_ptr<Recorder>> meters_;

 protected:
  FakeClock clock_;
  WorkQueue queue_{{executor_, clock_, [](Duration) {}}};

 private:
  static remote::ClientOptions Options(const FakeHttp& server, Clock& clock) {
    remote::ClientOptions options = remote::OptionsFor(server);
    options.clock = &clock;
    return options;
  }
  remote::ObjectClient client_{Options(server_, clock_)};
};

TEST_F(ReadMeterTest, SmallObjectsOfTwoJobsKeepToTheirRates) {
  SCOPED_TRACE("seed " + std::to_string(MeterSeed()) + " (--gtest_random_seed)");
  SetRate(kOne, 6'000'000);
  SetRate(kTwo, 2'000'000);
  Read(kOne, 10'000, 64);
  Read(kTwo, 10'000, 64);
  RunFor(seconds(3));
  ExpectPaced(kOne);
  ExpectPaced(kTwo);
}

TEST_F(ReadMeterTest, ObjectsThatAreLargerThanBuffersDoToo) {
  SCOPED_TRACE("seed " + std::to_string(MeterSeed()) + " (--gtest_random_seed)");
  SetRate(kOne, 6'000'000);
  SetRate(kTwo, 2'000'000);
  Read(kOne, 100'000, 32);
  Read(kTwo, 20'000'000, 4);
  RunFor(seconds(4));
  ExpectPaced(kOne);
  ExpectPaced(kTwo);
}

TEST_F(ReadMeterTest, AnotherRateHoldsFromThenOn) {
  SCOPED_TRACE("seed " + std::to_string(MeterSeed()) + " (--gtest_random_seed)");
  SetRate(kOne, 8'000'000);
  Read(kOne, 100'000, 32);
  RunFor(seconds(2));
  SetRate(kOne, 2'000'000);
  RunFor(seconds(3));
  SetRate(kOne, 6'000'000);
  RunFor(seconds(2));
  // The old connections' buffer and a read: they have a thread of their own, so both may be let go at once.
  ExpectPaced(kOne, 32768 + 16384);
}

TEST_F(ReadMeterTest, AJobThatReadNothingHasSavedAHundredthOfASecond) {
  SetRate(kOne, 1'000'000);
  clock_.Advance(seconds(10));
  queue_.SettleAhead(kOne, -10'000, 0);
  EXPECT_EQ(queue_.MayReceive(kOne, clock_.Now()).at, clock_.Now());
  queue_.SettleAhead(kOne, -1000, 0);
  EXPECT_EQ(queue_.MayReceive(kOne, clock_.Now()).at, clock_.Now() + milliseconds(1));
}

TEST_F(ReadMeterTest, TheLimitOfTheWorkerHoldsForAllTogether) {
  queue_.SetSourceLimit(4'000'000);
  SetRate(kOne, 0);
  SetRate(kTwo, 0);
  EXPECT_EQ(queue_.MayReceive(kOne, clock_.Now()).rate, 4'000'000U);
  SetRate(kTwo, 3'000'000);
  EXPECT_EQ(queue_.MayReceive(kTwo, clock_.Now()).rate, 3'000'000U);
  queue_.SettleAhead(kOne, -1'000'000, 0);
  EXPECT_EQ(queue_.MayReceive(kTwo, clock_.Now()).at, clock_.Now() + milliseconds(250));
}

}  // namespace
}  // namespace headrace::dataworker
