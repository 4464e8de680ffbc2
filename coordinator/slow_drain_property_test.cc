// Whatever trainers say of workers: what a lie costs, and whom.
#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <set>
#include <vector>

#include "coordinator/slow_drain_fixture.h"

namespace headrace::coordinator {
namespace {

using std::chrono::seconds;

// Programs of liars call any worker slow, at any time. Honest programs of two other tenants call those
// slow that are. Whatever happens: no worker that an honest program uses is drained while it is
// content with it; no program loses its last worker; drains keep their distance.
class Liars : public SlowDrainTest {
 public:
  void TestBody() override {}
  // Returns how many were drained.
  std::size_t Run(unsigned seed) {
    std::mt19937 rng(seed);
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(rng() % n); };
    rules_ = {.agreed = seconds(20), .alone = seconds(60), .pause = seconds(30)};
    for (int i = 0; i < 6; ++i) AddWorker();
    const std::set<WorkerId> truly_slow = {workers_[pick(6)]};
    const std::vector<JobId> honest = {AddJob("a"), AddJob("b")};
    std::vector<JobId> liars = {AddJob("c"), AddJob("c"), AddJob("c", "g"), AddJob("c", "g")};
    BeatFor(seconds(10));
    for (int step = 0; step < 150 && !HasFailure(); ++step) {
      for (const JobId job : liars) {
        if (pick(40) == 0 && !idle_.erase(job)) idle_.insert(job);
        if (pick(12) != 0) continue;
        const WorkerId victim = workers_[pick(workers_.size())];
        if (pick(3) == 0) slow_[job].clear();
        if (!slow_[job].erase(victim)) slow_[job].insert(victim);
      }
      for (const JobId job : honest) {
        if (pick(20) != 0) continue;
        for (const WorkerId id : truly_slow) slow_[job].insert(id);
      }
      if (pick(30) == 0 && !idle_.erase(honest[0])) idle_.insert(honest[0]);
      const std::size_t before = drained_.size();
      Beat();
      if (drained_.size() == before) continue;
      const auto [worker, when] = drained_.back();
      EXPECT_TRUE(truly_slow.contains(worker)) << "worker " << worker.value << " by a lie";
      if (before > 0) {
        EXPECT_GE(when - drained_[before - 1].second, rules_.pause);
      }
      for (const auto& [job, consumer] : jobs_) {
        EXPECT_FALSE(cluster_.state.FindJob(job)->leases.empty()) << "job " << job.value;
      }
      Leave(worker);
    }
    return drained_.size();
  }
};

TEST(SlowDrainProperty, ALieCostsTheLiarAlone) {
  std::size_t drains = 0;
  for (unsigned seed = 0; seed < 60 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    drains += Liars().Run(seed);
  }
  EXPECT_GT(drains, 10U) << "the slow one goes nevertheless";
}

}  // namespace
}  // namespace headrace::coordinator
