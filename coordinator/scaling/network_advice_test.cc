#include "coordinator/scaling/network_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/scaling/advice.h"
#include "coordinator/scaling/test_loads.h"

namespace headrace::coordinator {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

// In a second: `samples` of 10 ms on cores and 600 kB, of a trainer that would take 400. `network`: part
// of the waiting.
JobMeter Sending(double samples, double network, double cores) {
  JobMeter meter;
  wire::SessionLoad load;
  load.session = SessionId(1);
  load.samples = load.miss_samples = static_cast<std::uint64_t>(samples);
  load.step_ns = static_cast<std::uint64_t>(samples / 400 * 1e9);
  load.stall_ns = 1'000'000'000 - load.step_ns;
  load.wait_network_ns = static_cast<std::uint64_t>(static_cast<double>(load.stall_ns) * network);
  load.wait_compute_ns = load.stall_ns - load.wait_network_ns;
  load.miss_cpu_ns = load.samples * 10'000'000;
  load.tcp_bytes = load.received_bytes = load.samples * 600'000;
  ReportPeriods(meter, load, cores);
  return meter;
}

// 630 kB count, so 63 MB/s are 100 samples/s.
constexpr NetworkOffer kNarrow{{63e6, 0}, true};

TEST(NetworkAdvice, TheLinkIsNamedInPlaceOfCores) {
  const std::string text = Advice(Sending(100, 0, 1), 1, {}, kNarrow);
  EXPECT_THAT(text, Not(HasSubstr("more core")));
  EXPECT_THAT(text, EndsWith("; the network binds: the link of its host leaves it 63 MB/s, at 630 "
                             "kB a sample 100 of the 400 samples/s that it could take"));
  EXPECT_THAT(Advice(Sending(100, 0, 1), 1), HasSubstr("more cores would cut it")) << "no link";
}

TEST(NetworkAdvice, TheLinksOfWorkersAndOwnCoresAreNamed) {
  const std::string text = Advice(Sending(200, 0, 2), 2, {}, {{63e6, 1}, false});
  EXPECT_THAT(text, HasSubstr("the links of its workers leave it 63 MB/s"));
  EXPECT_THAT(text, HasSubstr("a sample with its own host's cores 200 of the 400"));
}

TEST(NetworkAdvice, CoresAreNamedAsFarAsTheNetworkCarriesThem) {
  // Half a core makes 50 samples/s; the link carries 100.
  const std::string text = Advice(Sending(50, 0, 0.5), 0.5, {}, kNarrow);
  EXPECT_THAT(text, HasSubstr("; 0.5 more cores would cut it to 75%; then the network binds: "));
}

TEST(NetworkAdvice, ACacheDoesNotWidenALink) {
  const CacheOffer cache{.total = 1e9, .free = 1e9};
  EXPECT_THAT(Advice(Sending(100, 0, 1), 1, cache), HasSubstr("more of cache"));
  EXPECT_THAT(Advice(Sending(100, 0, 1), 1, cache, kNarrow), Not(HasSubstr("more of cache")));
  // At half of what the link carries it helps as far as that.
  EXPECT_THAT(Advice(Sending(50, 0, 0.5), 0.5, cache, kNarrow),
              HasSubstr("more of cache, which its workers have, would cut it to 75% (2.0 times"));
}

TEST(NetworkAdvice, WithoutALinkWhatIsSentIsSaid) {
  EXPECT_THAT(Advice(Sending(100, 1, 4), 4),
              EndsWith("; the network holds it back: 63 MB/s are sent, 630 kB a sample"));
}

// Through shared memory, a request and its answer are on their way, too.
TEST(NetworkAdvice, NothingIsSaidOfANetworkThatNothingCrossed) {
  JobMeter meter;
  wire::SessionLoad load;
  load.session = SessionId(1);
  load.samples = load.miss_samples = 100;
  load.step_ns = load.stall_ns = load.wait_network_ns = 500'000'000;
  load.miss_cpu_ns = 1'000'000'000;
  load.shm_bytes = 60'000'000;
  ReportPeriods(meter, load, 4);
  EXPECT_THAT(Advice(meter, 4), EndsWith("; more cores would not help"));
}

TEST(NetworkAdvice, AWideLinkIsNotNamed) {
  EXPECT_THAT(Advice(Sending(100, 0, 1), 1, {}, {{1e12, 0}, true}), Not(HasSubstr("network")));
  EXPECT_EQ(NetworkBound(Terms{400, 0, 0.01, 0, 6e5}, 0, {{2.5e8, 0}, true}), kUnlimited);
}

TEST(NetworkAdvice, CoresBeyondWhatArrivesArePredictedToHelpNothing) {
  const Terms terms{400, 0.01, 0.01, 0, 630e3};
  TimeShares times;
  times.step = 0.125;  // 50 samples/s
  times.compute = 0.875;
  const Prediction free = PredictCores(terms, times, 0, 0.5);
  const Prediction bound = PredictCores(terms, times, 0, 0.5, 100);
  EXPECT_DOUBLE_EQ(free.cores, 4);
  EXPECT_DOUBLE_EQ(bound.cores, 0.5);
  EXPECT_NEAR(bound.wait_share, 0.75, 1e-9);
  EXPECT_EQ(PredictCores(terms, times, 0, 0.5, 52).cores, 0);
}

}  // namespace
}  // namespace headrace::coordinator
