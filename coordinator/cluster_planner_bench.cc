#include <benchmark/benchmark.h>

#include <random>
#include <string>

#include "base/check.h"
#include "coordinator/step.h"

// Measures a decision for a large cluster: the coordinator plans each second.
namespace headrace::coordinator {
namespace {

struct Cluster {
  PolicyRegistry policies;
  Rules rules;
  State state;
  std::mt19937 rng{7};

  void Apply(const Update& update) {
    const Status applied = state.Apply(update);
    HR_CHECK(applied.ok());
  }
  double Real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(rng);
  }

  // `link`: of each host, bytes/s; 0: none is known.
  Cluster(const std::string& policy, int jobs, int workers, std::uint64_t link) {
    RegisterPolicies(policies);
    rules.plan.policy = policies.Find(policy);
    rules.plan.source_rate = 50e9;
    rules.version = "bench";
    for (int i = 0; i < workers; ++i) {
      AddWorker add;
      add.token = "worker-token-" + std::to_string(i);
      add.info.worker = state.next_worker();
      add.info.cores = 4 << (i % 3);
      add.info.cache_bytes = 32ULL << 30;
      add.info.endpoints = {"tcp://10.0.0.1:7000"};
      add.info.host = {"host" + std::to_string(i), "boot" + std::to_string(i), 0, 1};
      add.info.link_bytes_per_second = link;
      if (link > 0) add.info.rack = "rack" + std::to_string(i / 40);
      Apply(add);
    }
    for (int i = 0; i < jobs; ++i) {
      AddJob add;
      add.job = state.next_job();
      add.consumer = state.next_consumer();
      add.token = "job-token-" + std::to_string(i);
      add.cache_bytes = 1ULL << 40;
      add.opened_ms = i;
      add.host = {"host" + std::to_string(i * 7 % workers),
                  "boot" + std::to_string(i * 7 % workers), 0, 1};
      add.link_bytes_per_second = link;
      if (link > 0) add.rack = "rack" + std::to_string(i * 7 % workers / 40);
      Apply(add);
      AddSession session;
      session.job = add.job;
      session.session = SessionId(i);
      session.dataset = static_cast<std::uint64_t>(1 + i % 100);
      session.rows = 1'000'000;
      Apply(session);
      wire::SessionLoad load;
      load.session = session.session;
      load.samples = load.miss_samples = 1 + static_cast<std::uint64_t>(Real(100, 20'000));
      load.step_ns = 1'000'000'000;
      load.miss_cpu_ns = load.samples * static_cast<std::uint64_t>(Real(1e5, 1e7));
      load.source_bytes = load.samples * 100'000;
      load.tcp_bytes = load.received_bytes = load.samples * 150'000;
      Apply(SeeConsumer{add.job, {}, {load}, true});
    }
  }
  // One control period, from reports that differ a little.
  void Period(SteadyTime now) {
    for (const auto& [id, job] : state.jobs()) {
      std::vector<wire::SessionLoad> loads = job.loads;
      for (wire::SessionLoad& load : loads) {
        const auto more = static_cast<std::uint64_t>(Real(0.95, 1.05) * 5000);
        load.samples += more;
        load.miss_samples += more;
        load.step_ns += 1'000'000'000;
        load.miss_cpu_ns += more * 2'000'000;
        load.source_bytes += more * 100'000;
        load.tcp_bytes += more * 150'000;
        load.received_bytes += more * 150'000;
      }
      Apply(SeeConsumer{id, now, std::move(loads), true});
    }
    for (const auto& [id, worker] : state.workers()) Apply(SeeWorker{id, now});
  }
};

void Decide(benchmark::State& bench, const std::string& policy) {
  Cluster cluster(policy, static_cast<int>(bench.range(0)), static_cast<int>(bench.range(1)),
                  static_cast<std::uint64_t>(bench.range(2)));
  SteadyTime now{};
  std::size_t changed = 0;
  for (auto _ : bench) {
    bench.PauseTiming();
    now += std::chrono::seconds(1);
    cluster.Period(now);
    bench.ResumeTiming();
    const Decision decision = Step(cluster.rules, cluster.state, Tick{}, {now, 0, 0});
    bench.PauseTiming();
    changed += decision.updates.size();
    for (const Update& update : decision.updates) cluster.Apply(update);
    bench.ResumeTiming();
  }
  bench.counters["updates"] =
      benchmark::Counter(static_cast<double>(changed), benchmark::Counter::kAvgIterations);
}

// What `headrace top` and the page ask for each second, after some periods of planning.
void Describe(benchmark::State& bench) {
  Cluster cluster("utilization", static_cast<int>(bench.range(0)), static_cast<int>(bench.range(1)),
                  0);
  SteadyTime now{};
  for (int period = 0; period < 3; ++period) {
    now += std::chrono::seconds(1);
    cluster.Period(now);
    for (const Update& update : Step(cluster.rules, cluster.state, Tick{}, {now, 0, 0}).updates) {
      cluster.Apply(update);
    }
  }
  for (auto _ : bench) {
    benchmark::DoNotOptimize(DescribeCluster(cluster.rules, cluster.state, {}, {now, 0, 0}));
  }
}

// A policy alone, with 1,000 admitted jobs of a given number of priorities: its cost must not grow
// with them.
void DividePriorities(benchmark::State& bench, const std::string& name) {
  PolicyRegistry policies;
  RegisterPolicies(policies);
  const Policy& policy = *policies.Find(name);
  Snapshot snapshot;
  snapshot.supply = {kUnlimited, 4000, 1e12, 1e10};
  snapshot.tenants.push_back({"default"});
  for (int i = 0; i < 1000; ++i) {
    JobView job;
    job.job = JobId(i);
    job.priority = i % static_cast<int>(bench.range(0));
    job.arrival_s = i;
    job.terms = {1000.0 + i, 1e-4, 0.01, 1e5};
    job.dataset = i;
    snapshot.datasets.push_back({1e10, 0});
    snapshot.jobs.push_back(job);
  }
  for (auto _ : bench) benchmark::DoNotOptimize(policy.Decide(snapshot));
}

// A policy alone, with 5,000 jobs for 400 GPUs: most of them wait. Half of the others pause.
void DivideWaiting(benchmark::State& bench, const std::string& name) {
  PolicyRegistry policies;
  RegisterPolicies(policies);
  const Policy& policy = *policies.Find(name);
  std::mt19937 rng(7);
  const auto real = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(rng);
  };
  const bool data = bench.range(1) != 0;
  Snapshot snapshot;
  snapshot.supply = {400, 1200, data ? 64e12 : 0, data ? 2e9 : kUnlimited};
  snapshot.tenants.push_back({"default"});
  for (std::int64_t i = 0; i < bench.range(0); ++i) {
    JobView job;
    job.job = JobId(i);
    job.gpus = 1 << (i % 3);
    job.running = i < 200;
    job.arrival_s = static_cast<double>(i);
    job.terms = {real(100, 5000) * job.gpus, 1e-4, real(5e-4, 5e-3), 1e5};
    job.most_cores = CoresFor(job.terms, job.terms.ready_rate, 0);
    job.remaining_samples = real(1e5, 1e8);
    job.received = real(0, 1e6);
    if (data) {
      job.dataset = static_cast<std::int32_t>(i);
      const double bytes = real(1e11, 2e13);
      snapshot.datasets.push_back({bytes, i < 400 ? bytes * real(0, 0.5) : 0});
    }
    snapshot.jobs.push_back(job);
  }
  for (auto _ : bench) benchmark::DoNotOptimize(policy.Decide(snapshot));
}

BENCHMARK_CAPTURE(DividePriorities, max_min_fair, "max_min_fair")
    ->ArgName("priorities")
    ->Arg(1)
    ->Arg(10)
    ->Arg(1000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(DivideWaiting, max_min_fair, "max_min_fair")
    ->ArgNames({"jobs", "data"})
    ->Args({5000, 0})
    ->Args({5000, 1})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(DivideWaiting, utilization, "utilization")
    ->ArgNames({"jobs", "data"})
    ->Args({5000, 0})
    ->Args({5000, 1})
    ->Unit(benchmark::kMillisecond);

BENCHMARK(Describe)->Args({1000, 10'000})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Decide, fifo, "fifo")->Args({1000, 10'000, 0})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Decide, sjf, "sjf")->Args({1000, 10'000, 0})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Decide, max_min_fair, "max_min_fair")
    ->Args({1000, 10'000, 0})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Decide, utilization, "utilization")
    ->Args({100, 1000, 0})
    ->Args({1000, 10'000, 0})
    ->Args({1000, 10'000, 125'000'000})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headrace::coordinator

BENCHMARK_MAIN();
