#include "coordinator/scaling/job_meter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "coordinator/scaling/advice.h"
#include "coordinator/scaling/test_loads.h"

namespace headrace::coordinator {
namespace {

std::uint64_t Ns(double seconds) { return static_cast<std::uint64_t>(std::llround(seconds * 1e9)); }

// A session's totals, after some seconds of a trainer with these rates.
struct Session {
  wire::SessionLoad load;
  Session() { load.session = SessionId(7); }
  // `wait`: seconds blocked for native operators, beside `step` seconds of its own.
  void Run(double samples, double step, double wait, double hits, double hit_cost,
           double miss_cost) {
    load.samples += static_cast<std::uint64_t>(samples);
    load.step_ns += Ns(step);
    load.stall_ns += Ns(wait);
    load.wait_compute_ns += Ns(wait);
    load.hit_samples += static_cast<std::uint64_t>(samples * hits);
    load.miss_samples += static_cast<std::uint64_t>(samples * (1 - hits));
    load.hit_cpu_ns += Ns(samples * hits * hit_cost);
    load.miss_cpu_ns += Ns(samples * (1 - hits) * miss_cost);
    load.source_bytes += static_cast<std::uint64_t>(samples * (1 - hits) * 1e5);
  }
};

TEST(JobMeter, TermsFollowFromTotals) {
  // In 1 s: 200 samples, 0.5 s of steps: the trainer would take 400/s.
  JobMeter meter;
  Session session;
  session.Run(200, 0.5, 0.5, 0.5, 0.001, 0.011);
  meter.Report({session.load});
  EXPECT_EQ(meter.EndPeriod(2), Move::kGrow);
  EXPECT_NEAR(meter.measured().ready_rate, 400, 1e-6);
  EXPECT_NEAR(meter.measured().hit_cost, 0.001, 1e-9);
  EXPECT_NEAR(meter.measured().miss_cost, 0.011, 1e-9);
  EXPECT_NEAR(meter.measured().miss_bytes, 1e5, 1e-6);
  EXPECT_NEAR(meter.hit(), 0.5, 1e-12);
  EXPECT_NEAR(meter.rate(), 200, 1e-9);
  EXPECT_NEAR(meter.demand().cores, 400 * 0.006, 1e-9);
}

TEST(JobMeter, ATotalThatFallsIsNoGrowth) {
  JobMeter meter;
  Session session;
  session.Run(1000, 1, 0, 0, 0, 0.01);
  meter.Report({session.load});
  meter.EndPeriod(2);
  session.load.samples = 300;
  meter.Report({session.load});
  EXPECT_EQ(meter.EndPeriod(2), Move::kHold);
  EXPECT_NEAR(meter.rate(), 1000, 1e-9);
}

// What the controller is told beside the terms: batches, the buffer and the use of cores. A word that
// the use of cores speaks against is believed up to twice that use.
TEST(JobMeter, UseOfCoresBoundsWhatAClientSays) {
  for (const bool honest : {true, false}) {
    JobMeter meter;
    Session session;
    for (int period = 0; period < 60; ++period) {
      session.Run(100, honest ? 1 : 0.1, 0, 0, 0, 0.01);
      session.load.batches += 10;
      meter.Report({session.load});
      meter.ReportUsed(0.6);  // by two workers
      meter.ReportUsed(0.4);
      meter.EndPeriod(16);
    }
    EXPECT_NEAR(meter.demand().cores, honest ? 1 : 2, 0.02);
  }
}

// Twelve batches a second for two seconds, then four seconds without any. The client says how long a
// step took when it has ended. With a buffer for a burst, the mean is enough.
TEST(JobMeter, ABurstThatIsBufferedNeedsTheMean) {
  for (const std::uint64_t window : {0U, 24U}) {
    JobMeter meter;
    Session session;
    session.load.window_batches = session.load.ready_batches = window;
    for (int period = 0; period < 360; ++period) {
      if (period % 6 < 2) {
        session.Run(120, period > 0 && period % 6 == 0 ? 5 : 1, 0, 0, 0, 0.01);
        session.load.batches += 12;
      }
      meter.Report({session.load});
      meter.EndPeriod(16);
    }
    EXPECT_NEAR(meter.demand().cores, window > 0 ? 0.4 : 1.15, window > 0 ? 0.01 : 0.06);
  }
}

TEST(JobMeter, FewBatchesAreNoEstimate) {
  JobMeter meter;
  Session session;
  for (int period = 0; period < 4; ++period) {
    EXPECT_FALSE(meter.demand().known);
    session.Run(64, 1, 0, 0, 0, 0.01);
    session.load.batches += 2;
    meter.Report({session.load});
    meter.EndPeriod(16);
  }
  EXPECT_NEAR(meter.demand().cores, 0.64, 1e-3);
}

TEST(JobMeter, KnowsWhatCameAndWhatIsToCome) {
  JobMeter meter;
  EXPECT_EQ(meter.remaining(), kUnlimited);
  Session train, other;
  other.load.session = SessionId(8);
  train.Run(100, 1, 0, 0, 0, 0.01);
  other.Run(10, 1, 0, 0, 0, 0.01);
  meter.Report({train.load, other.load});
  EXPECT_EQ(meter.remaining(), kUnlimited);
  train.load.remaining_samples = 900;
  meter.Report({train.load, other.load});
  EXPECT_EQ(meter.remaining(), 900) << "as far as it is known";
  other.load.remaining_samples = 50;
  meter.Report({train.load, other.load});
  EXPECT_EQ(meter.remaining(), 950);
  EXPECT_EQ(meter.received(), 110);
  meter.Report({train.load});
  EXPECT_EQ(meter.remaining(), 900) << "a loader that is closed takes nothing more";
  EXPECT_EQ(meter.received(), 110);
}

TEST(JobMeter, SessionsAddUp) {
  JobMeter meter;
  Session a, b;
  b.load.session = SessionId(8);
  a.Run(100, 0.25, 0.25, 0, 0, 0.01);
  b.Run(100, 0.25, 0.25, 0, 0, 0.03);
  meter.Report({a.load, b.load});
  meter.EndPeriod(2);
  EXPECT_NEAR(meter.measured().miss_cost, 0.02, 1e-9);
  EXPECT_NEAR(meter.rate(), 200, 1e-9);
}

TEST(JobMeter, ASilentPeriodTeachesNothing) {
  JobMeter meter;
  EXPECT_EQ(meter.EndPeriod(2), Move::kHold);
  EXPECT_FALSE(meter.demand().known);
  Session session;
  session.Run(100, 0.5, 0, 0, 0, 0.01);
  meter.Report({session.load});
  meter.EndPeriod(2);
  const Demand before = meter.demand();
  EXPECT_EQ(meter.EndPeriod(2), Move::kHold);
  EXPECT_EQ(meter.demand().terms, before.terms);
}

TEST(JobMeter, AnOldClientsStallCountsAsComputing) {
  JobMeter meter;
  wire::SessionLoad load;
  load.session = SessionId(1);
  load.samples = 100;
  load.step_ns = Ns(0.4);
  load.stall_ns = Ns(0.6);
  meter.Report({load});
  meter.EndPeriod(1);
  EXPECT_NEAR(meter.times().compute, 0.6, 1e-9);
}

TEST(JobMeter, WaitingWhileTheDeviceComputesIsNoWaiting) {
  // Of 0.6 s in next(), the device was idle for 0.2 s: it took 100 samples in 0.8 s.
  JobMeter meter;
  wire::SessionLoad load;
  load.session = SessionId(1);
  load.samples = 100;
  load.step_ns = Ns(0.4);
  load.stall_ns = Ns(0.6);
  load.wait_compute_ns = Ns(0.45);
  load.wait_network_ns = Ns(0.15);
  load.idle_known = true;
  load.idle_ns = Ns(0.2);
  meter.Report({load});
  meter.EndPeriod(1);
  EXPECT_NEAR(meter.times().step, 0.8, 1e-9);
  EXPECT_NEAR(meter.times().compute, 0.15, 1e-9);
  EXPECT_NEAR(meter.times().network, 0.05, 1e-9);
  EXPECT_NEAR(meter.measured().ready_rate, 125, 1e-6);
  EXPECT_NEAR(meter.rate(), 100, 1e-6);
}

TEST(JobMeter, ASessionThatIsFirstHeardOfInItsMiddleIsCountedFromThere) {
  // An hour at 10 samples/s that was not counted, then a second at 200/s.
  JobMeter meter;
  Session session;
  session.Run(36000, 3600, 0, 0, 0, 0.5);
  meter.Report({session.load});
  EXPECT_EQ(meter.EndPeriod(2), Move::kHold);
  EXPECT_FALSE(meter.demand().known);
  session.Run(200, 0.5, 0.5, 0, 0, 0.01);
  meter.Report({session.load});
  EXPECT_EQ(meter.EndPeriod(2), Move::kGrow);
  EXPECT_NEAR(meter.measured().ready_rate, 400, 1e-6);
  EXPECT_NEAR(meter.measured().miss_cost, 0.01, 1e-9);
}

// The advice is a promise: with the cores it names, the waiting is as it says. Checked for random
// jobs: the estimator's formula holds, and something else takes a part of the time.
TEST(Advice, ThePredictionComesTrue) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const auto real = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(rng);
    };
    const double g = real(50, 5000), cost = real(1e-4, 2e-2);
    const double slowness = real(1, 2);       // cores against the metered cost
    const double network = real(0, 0.2) / g;  // seconds a sample, exposed
    const auto world = [&](double cores) {
      const double step = 1 / g, made = cost * slowness / cores;
      TimeShares times;
      times.step = step;
      times.compute = std::max(0.0, made - step);
      times.network = network;
      return times;
    };
    const double granted = g * cost * slowness * real(0.2, 0.95);
    const TimeShares before = world(granted);
    const Prediction prediction = PredictCores({g, 0, cost, 0}, before, 0, granted);
    if (before.compute < 0.02 * before.all()) continue;
    // What is exposed beside the cores hides a part of their slowness: the observed cost is an
    // upper bound.
    ASSERT_GT(prediction.cores, 0);
    const TimeShares after = world(granted + prediction.cores);
    EXPECT_LE(after.compute, 0.03 * after.all());
    EXPECT_NEAR(prediction.wait_share, after.wait() / after.all(), 0.05);
  }
}

TEST(Advice, SaysItInASentence) {
  JobMeter meter;
  wire::SessionLoad load;
  load.session = SessionId(1);
  load.samples = 590;
  load.step_ns = Ns(0.59);
  load.stall_ns = Ns(0.41);
  load.wait_compute_ns = Ns(0.30);
  load.wait_network_ns = Ns(0.08);
  load.wait_copy_ns = Ns(0.03);
  load.miss_samples = 590;
  load.miss_cpu_ns = Ns(5.9);
  ReportPeriods(meter, load, 5.9);
  // 1000/s need 9.8 cores of 10 ms a sample; 5.9 are there. Network and copy take 0.11 s for 590
  // samples, or 0.19 ms a sample beside its 1 ms.
  EXPECT_EQ(Advice(meter, 5.9),
            "waits 41%: 30% decode, 8% network, 3% copy; 4 more cores would cut it to 16%");
}

TEST(Advice, ABottleneckOfTheTrainerIsNoneOfOurs) {
  JobMeter meter;
  Session session;
  session.Run(100, 1, 0.005, 0, 0, 0.01);
  ReportPeriods(meter, session.load, 5);
  EXPECT_EQ(Advice(meter, 5), "waits 0%: the trainer is the bottleneck");
}

// The advice for a trainer that waits half of its time for one thing. A limit of the source holds
// it up for `limited` seconds of the second.
std::string AdviceOnAWait(std::uint64_t wire::SessionLoad::*wait, double limited) {
  JobMeter meter;
  wire::SessionLoad load;
  load.session = SessionId(1);
  load.samples = 100;
  load.step_ns = Ns(0.5);
  load.stall_ns = load.*wait = Ns(0.5);
  load.miss_samples = 100;
  load.miss_cpu_ns = Ns(0.1);
  ReportPeriods(meter, load, 5, limited);
  return Advice(meter, 5);
}

TEST(Advice, ASlowSamplerIsNotCuredByCores) {
  EXPECT_EQ(AdviceOnAWait(&wire::SessionLoad::wait_sampler_ns, 0),
            "waits 50%: 50% sampler; more cores would not help");
}

TEST(Advice, ALimitOfTheSourceIsSaidAndNotCuredByCores) {
  EXPECT_EQ(AdviceOnAWait(&wire::SessionLoad::wait_queue_ns, 0.7),
            "waits 50%: 50% queue; its limit of the source holds it back");
}

TEST(Advice, NothingIsSaidBeforeAnythingIsKnown) { EXPECT_EQ(Advice(JobMeter{}, 4), ""); }

TEST(Advice, IsSilentWhileItCannotKnow) {
  JobMeter meter;
  Session session;
  const auto second = [&](double granted) {
    session.Run(100, 0.5, 0.5, 0, 0, 0.01);
    meter.Report({session.load});
    meter.EndPeriod(granted);
    return Advice(meter, granted);
  };
  for (int period = 1; period < 5; ++period) EXPECT_EQ(second(1), "");
  EXPECT_EQ(second(1), "waits 50%: 50% decode; 1 more core would cut it to 0%");
  EXPECT_EQ(Advice(meter, 2), "")
      << "its grant has changed: what was measured says nothing about it";
  for (int period = 1; period < 5; ++period) EXPECT_EQ(second(2), "");
  EXPECT_NE(second(2), "");
}

// On a loaded host some steps seem to take no time, and the need by them has no bound.
TEST(Advice, ARangeEndsWhereTheControllerBelievesNoMore) {
  JobMeter meter;
  Session session;
  for (int period = 0; period < 10; ++period) {
    const double step = period % 3 == 0 ? 1e-3 : 0.3;  // s, of 10 samples
    session.Run(10, step, 1 - step, 0, 0, 0.01);
    meter.Report({session.load});
    meter.EndPeriod(0.1);
  }
  const Prediction said = PredictCoresOfLate(meter, 0.1, kUnlimited);
  ASSERT_GT(said.cores, 0);
  EXPECT_LE(said.most, std::max(said.cores, 0.8) + 1e-9);
}

// Speeds and costs that vary by a fifth from second to second: whatever is said within ten seconds does
// not contradict itself, and the true number is always in the range.
TEST(Advice, RangesDoNotContradictEachOther) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    std::normal_distribution<double> error(0, 0.2);
    JobMeter meter;
    Session session;
    std::vector<Prediction> said;
    for (int period = 0; period < 120; ++period) {
      // It takes 1,000 samples/s of 10 ms each, and has 4 cores.
      const double g = 1000 * std::clamp(1 + error(rng), 0.5, 2.0);
      const double cost = 0.01 * std::clamp(1 + error(rng), 0.5, 2.0);
      const double rate = std::min(g, 4 / cost);
      session.Run(rate, rate / g, 1 - rate / g, 0, 0, cost);
      meter.Report({session.load});
      meter.EndPeriod(4);
      if (!meter.recent().Tell(4)) continue;
      said.push_back(PredictCoresOfLate(meter, 4));
      EXPECT_LE(said.back().least, said.back().cores);
      EXPECT_GE(said.back().most, said.back().cores);
      EXPECT_LE(said.back().least, 6);
      EXPECT_GE(said.back().most, 6);
      EXPECT_LE(said.back().most - said.back().least, said.size() < 16 ? 20 : 14);
      for (std::size_t back = 1; back <= 10 && back < said.size(); ++back) {
        const Prediction& before = said[said.size() - 1 - back];
        EXPECT_LE(before.least, said.back().most);
        EXPECT_GE(before.most, said.back().least);
      }
    }
  }
}

// A batch may take more than one period, and its wait is reported when it has come.
TEST(JobMeter, ALimitThatHoldsABatchBackForLongCountsForAsLong) {
  JobMeter meter;
  Session session;
  session.Run(100, 0.5, 0, 0, 0, 0.01);
  meter.Report({session.load});
  meter.EndPeriod(2);
  for (int second = 0; second < 5; ++second) {
    session.Run(second == 4 ? 100 : 0, 0, 1, 0, 0, 0.01);
    if (second == 4) session.load.step_ns += Ns(0.5);
    meter.Report({session.load});
    meter.ReportLimited(1);  // for two workers
    meter.ReportLimited(0.9);
    meter.EndPeriod(2);
  }
  EXPECT_NEAR(meter.times().wait(), 5, 1e-9);
  EXPECT_NEAR(meter.times().limited, 5, 1e-9);
}

// A mean that fades for hours without new samples has no digits left in the end.
TEST(JobMeter, APathThatIsNotTakenForHoursKeepsItsCost) {
  for (const double lasting : {0.0, 1.0}) {  // share of hits
    JobMeter meter;
    Session session;
    for (int period = 0; period < 20'000; ++period) {
      session.Run(200, 0.5, 0.5, period < 10 ? 0.5 : lasting, 0.001, 0.011);
      meter.Report({session.load});
      meter.EndPeriod(2);
    }
    EXPECT_NEAR(meter.measured().hit_cost, 0.001, 1e-9);
    EXPECT_NEAR(meter.measured().miss_cost, 0.011, 1e-9);
    EXPECT_NEAR(meter.measured().miss_bytes, 1e5, 1e-6);
  }
}

}  // namespace
}  // namespace headrace::coordinator
