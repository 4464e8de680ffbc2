// The bound against the best of all schedules of tiny clusters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simulate/bound/completion_bound.h"
#include "simulate/random.h"
#include "simulate/simulate_test_util.h"

namespace headrace::simulate {
namespace {

// Jobs of whole seconds. In each second each job that is there runs at full speed, at half speed, or not.
struct Tiny {
  int gpus = 2;
  int half_cores = 2;  // twice the cores
  struct TinyJob {
    int arrival = 0;
    int gpus = 1;
    int half_seconds = 0;  // of work at full speed, twice
    int cores = 0;         // at full speed
    bool pinned = false;
  };
  std::vector<TinyJob> jobs;
};

// The least sum of completion times, over all schedules that change only at whole seconds.
class Best {
 public:
  explicit Best(const Tiny& tiny) : tiny_(tiny) {}
  int Sum() {
    std::vector<int> left;
    for (const auto& job : tiny_.jobs) left.push_back(job.half_seconds);
    return From(0, left);
  }

 private:
  int From(int now, const std::vector<int>& left) {
    if (std::ranges::all_of(left, [](int each) { return each <= 0; })) return 0;
    const auto key = std::pair(now, left);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    std::vector<int> speeds(left.size(), 0);
    const int best = Choose(now, left, speeds, 0, tiny_.gpus, tiny_.half_cores);
    return known_[key] = best;
  }
  // `speeds` in halves; the jobs before `k` have theirs.
  int Choose(int now, const std::vector<int>& left, std::vector<int>& speeds, std::size_t k,
             int gpus, int half_cores) {
    if (k == left.size()) {
      std::vector<int> after = left;
      int sum = 0;
      bool idle = true, waits = false;
      for (std::size_t i = 0; i < left.size(); ++i) {
        if (left[i] <= 0) continue;
        if (speeds[i] > 0) idle = false;
        if (tiny_.jobs[i].arrival <= now) waits = true;
        after[i] -= speeds[i];
        if (after[i] <= 0) sum += now + 1;
      }
      if (idle && waits) return kNever;  // the same schedule a second earlier is better
      return sum + From(now + 1, after);
    }
    speeds[k] = 0;
    int best = Choose(now, left, speeds, k + 1, gpus, half_cores);
    const auto& job = tiny_.jobs[k];
    if (left[k] <= 0 || job.arrival > now || job.gpus > gpus) return best;
    for (const int speed : {1, 2}) {
      if (speed > left[k] || job.cores * speed > half_cores) break;
      // A core for each GPU of its own.
      if (job.pinned && job.cores * speed > 2 * job.gpus) break;
      speeds[k] = speed;
      best = std::min(
          best, Choose(now, left, speeds, k + 1, gpus - job.gpus, half_cores - job.cores * speed));
    }
    speeds[k] = 0;
    return best;
  }

  static constexpr int kNever = 1'000'000;
  const Tiny& tiny_;
  std::map<std::pair<int, std::vector<int>>, int> known_;
};

Tiny Draw(Random& random) {
  const auto upto = [&](int most) { return static_cast<int>(random.Uniform() * (most + 1)); };
  Tiny tiny;
  tiny.gpus = 1 + upto(2);
  tiny.half_cores = 2 * tiny.gpus;
  const int jobs = 2 + upto(2) / (1 + upto(1));
  for (int i = 0; i < jobs; ++i) {
    Tiny::TinyJob job;
    job.arrival = upto(3);
    job.gpus = 1 + upto(tiny.gpus - 1);
    job.half_seconds = 2 * (1 + upto(2));
    job.cores = upto(tiny.gpus);
    job.pinned = upto(3) == 0;
    if (job.pinned) job.cores = std::min(job.cores, 2 * job.gpus);
    tiny.jobs.push_back(job);
  }
  std::ranges::sort(tiny.jobs, {}, &Tiny::TinyJob::arrival);
  return tiny;
}

// HEADRACE_SEED gives the instances of another seed.
TEST(CompletionBound, IsAtMostTheBestOfAllSchedules) {
  const char* given = std::getenv("HEADRACE_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  Random random(seed);
  double reached = 0;
  constexpr int kInstances = 100;
  for (int instance = 0; instance < kInstances; ++instance) {
    const Tiny tiny = Draw(random);
    Trace trace;
    double arrivals = 0;
    for (const auto& each : tiny.jobs) {
      // A second of full speed is a step, so half a step is half a second's work.
      trace.jobs.push_back(
          TestJob(each.arrival, each.half_seconds / 2.0, 1, each.cores, each.gpus));
      trace.jobs.back().separable = !each.pinned;
      arrivals += each.arrival;
    }
    Cluster cluster;
    cluster.gpus = tiny.gpus;
    cluster.cpu_per_gpu = 1;
    const auto n = static_cast<double>(tiny.jobs.size());
    const double best = (Best(tiny).Sum() - arrivals) / n;
    const double bound = BoundCompletion(NeedsOfJobs(trace, cluster)).avg_jct_s;
    ASSERT_LE(bound, best * (1 + 1e-9)) << "HEADRACE_SEED=" << seed << ", instance " << instance;
    reached += bound / best;
  }
  EXPECT_GE(reached / kInstances, 0.9) << "HEADRACE_SEED=" << seed << ": a bound that says little";
}

}  // namespace
}  // namespace headrace::simulate
