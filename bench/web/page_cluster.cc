#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "base/clock.h"
#include "cli/show_status.h"
#include "net/intake_gate.h"
#include "net/reactor.h"
#include "web/status_server.h"

// The page of a cluster that is made up: page_cluster JOBS WORKERS. All numbers change with each look. It prints
// its address. bench/web/page.py asks it.
namespace headrace {
namespace {

class MadeUp {
 public:
  MadeUp(int jobs, int workers) {
    for (int i = 1; i <= workers; ++i) {
      wire::WorkerStatus worker;
      worker.info.worker = WorkerId(i);
      worker.info.host.hostname = "node" + std::to_string(i / 4) + ".cluster.example";
      worker.info.host.pid = 1000 + i;
      worker.info.cores = 4 << (i % 3);
      worker.info.member = "headrace-head-7070." + std::to_string(i);
      worker.info.tiers = {{"memory", std::uint64_t{64} << 30}};
      worker.state = i % 97 == 0 ? "draining" : i % 389 == 0 ? "lost" : "ready";
      if (i % 97 == 0) worker.reason = "slow for 2 programs";
      for (int j = 0; j < 2; ++j) worker.last.jobs.emplace_back(1 + (i + j) % jobs);
      for (const JobId job : worker.last.jobs) {
        wire::JobUsage usage;
        usage.job = job;
        worker.last.usage.push_back(usage);
      }
      state_.cluster.workers.push_back(worker);
    }
    for (int i = 1; i <= jobs; ++i) {
      wire::JobStatus job;
      job.job = JobId(i);
      constexpr const char* kNames[] = {"resnet50",     "dino", "detection",
                                        "segmentation", "clip", "simclr"};
      job.name = std::string(kNames[i % 6]) + "_" + std::to_string(i) + ".py";
      job.hostname = "gpu" + std::to_string(i / 8) + ".cluster.example";
      job.pid = i;
      job.state = i % 50 == 0 ? "waiting: no worker" : "running";
      job.tenant = "team" + std::to_string(i % 20);
      job.sessions.resize(2);
      job.sessions[0].session = SessionId(2 * i);
      job.sessions[1].session = SessionId(2 * i + 1);
      for (int w = 0; w < 10; ++w) job.workers.emplace_back(1 + (i * 10 + w) % workers);
      job.remaining_samples = 100'000'000;
      job.opened_ms = Clock::Real().WallMillis() - 997'000LL * i;
      state_.cluster.jobs.push_back(job);
    }
    for (int i = 1; i <= std::max(jobs / 10, 4); ++i) {
      wire::DatasetStatus data;
      data.dataset = static_cast<std::uint64_t>(i);
      data.name = "ImageFolder(/data/set" + std::to_string(i) + ")";
      data.form = "decoded";
      data.phase = i % 2 == 0 ? "steady" : "filling";
      data.bytes = std::uint64_t{200} << 30;
      data.rows = 1'281'167;
      data.jobs = {JobId(i), JobId(i + 4), JobId(i + 8)};
      data.parts = {{.worker = WorkerId(i),
                     .quota_bytes = std::uint64_t{150} << 30,
                     .bytes = std::uint64_t{i % 2 == 0 ? 150U : 90U} << 30}};
      data.hit_share = i % 2 == 0 ? 0.75 : 0.45;
      data.hit_when_full = 0.75;
      state_.cluster.datasets.push_back(data);
    }
    state_.cluster.version = "0.1.0";
    state_.policy = "utilization";
    state_.pool = {.name = "slurm",
                   .most = workers,
                   .wanted = workers,
                   .queued = 2,
                   .running = workers - 2,
                   .core_price = 0.04,
                   .reasons = {{"(Resources)", 2}}};
  }

  web::PageState Look() {
    wire::ClusterStatus& now = state_.cluster;
    now.wall_ms = Clock::Real().WallMillis();
    for (wire::WorkerStatus& worker : now.workers) {
      worker.last.cpu_seconds += Real(0, worker.info.cores);
      worker.last.samples += static_cast<std::uint64_t>(Real(0, 9000));
      worker.last.cache_hits += static_cast<std::uint64_t>(Real(0, 9000));
      worker.last.cache_misses += static_cast<std::uint64_t>(Real(0, 9000));
      worker.last.resident_bytes = static_cast<std::uint64_t>(Real(1e9, 60e9));
      worker.last.cache_bytes = static_cast<std::uint64_t>(Real(1e9, 60e9));
      worker.last.queued_samples = static_cast<std::uint64_t>(Real(0, 100));
    }
    ++look_;
    double asked = 1, ready = 0;
    for (const wire::JobStatus& job : now.jobs) asked += job.demand_millicores;
    for (const wire::WorkerStatus& worker : now.workers) {
      if (worker.state == "ready") ready += 1000 * worker.info.usable_cores();
    }
    part_ = std::min(1.0, ready / asked);
    state_.pool.cores = ready / 1000;
    for (wire::JobStatus& job : now.jobs) Train(job);
    return state_;
  }

 private:
  // A second of a job whose waiting rises and falls within minutes.
  void Train(wire::JobStatus& job) {
    const auto id = static_cast<double>(job.job.value);
    const double wave = 0.5 + 0.5 * std::sin(look_ / 40.0 + id);
    const double decode = std::max(0.0, 0.3 * wave + Real(-0.04, 0.04));
    const double source = std::max(0.0, std::fmod(id, 3) * 0.08 * (1 - wave) + Real(-0.02, 0.02));
    const double network = std::max(0.0, 0.03 + Real(-0.01, 0.01));
    const double wait = decode + source + network;
    const auto ns = [](double seconds) { return static_cast<std::uint64_t>(1e9 * seconds); };
    job.totals.step_ns += ns(1 - wait);
    job.totals.stall_compute_ns += ns(decode);
    job.totals.stall_source_ns += ns(source);
    job.totals.stall_network_ns += ns(network);
    const double ready = 500 * (1 + std::fmod(id * 7, 13));
    job.samples_per_second_when_ready = ready;
    job.samples_per_second = ready * (1 - wait);
    job.sessions[0].samples += static_cast<std::uint64_t>(job.samples_per_second);
    job.wait_share = wait;
    job.demand_millicores = static_cast<std::uint32_t>(1000 * (4 + std::fmod(id * 5, 9)));
    job.granted_millicores = static_cast<std::uint32_t>(job.demand_millicores * part_);
    job.granted_local_millicores = std::min(job.granted_millicores, 2000U);
    job.cache_bytes_granted = std::uint64_t{48} << 30;
    job.remaining_samples -= static_cast<std::int64_t>(job.samples_per_second);
    const auto percent = [](double share) {
      return std::to_string(std::lround(100 * share)) + "%";
    };
    const auto more = std::lround((job.demand_millicores - job.granted_millicores) / 1000.0);
    job.advice = "waits " + percent(wait) + ": " + percent(decode) + " decode, " + percent(source) +
                 " source, " + percent(network) + " network; " + std::to_string(more + 1) +
                 " more cores would cut it to " + percent(source + network);
  }
  double Real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(rng_);
  }
  web::PageState state_;
  int look_ = 0;
  double part_ = 0;  // of what jobs ask for, that there is
  std::mt19937 rng_{7};
};

int Serve(int jobs, int workers) {
  net::OpenIntakeGate();
  auto reactor = std::move(net::Reactor::Make("page-cluster")).value();
  MadeUp cluster(jobs, workers);
  web::StatusSource source;
  source.metrics = []() -> std::function<std::string()> { return [] { return std::string(); }; };
  source.not_ready = [] { return std::string(); };
  web::PageSource page;
  page.state = [&] { return cluster.Look(); };
  page.status = &cli::StatusJson;
  page.job = &cli::JobObjectJson;
  page.worker = &cli::WorkerObjectJson;
  source.page = std::move(page);
  auto server = web::StatusServer::Start(*reactor, {"127.0.0.1:0", ""}, std::move(source));
  if (!server.ok()) {
    std::fprintf(stderr, "%s\n", server.status().ToString().c_str());
    return 1;
  }
  std::printf("%s\n", (*server)->address().c_str());
  std::fflush(stdout);
  // It ends with whoever started it.
  reactor->WatchFd(STDIN_FILENO, [&] { reactor->Stop(); });
  const Status ran = reactor->Run();
  server->reset();
  return ran.ok() ? 0 : 1;
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "page_cluster JOBS WORKERS\n");
    return 2;
  }
  return headrace::Serve(std::atoi(argv[1]), std::atoi(argv[2]));
}
