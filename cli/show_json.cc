#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "cli/show.h"

namespace headrace::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json Cluster(const wire::ClusterStatus& now) {
  return {{"version", now.version},
          {"wall_ms", now.wall_ms},
          {"coordinator_cpu_seconds", now.cpu_seconds},
          {"ended_workers_cpu_seconds", now.ended_cpu_seconds}};
}

double Seconds(std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

Json Session(const wire::SessionLoad& load) {
  Json tiers = Json::array();
  for (const wire::TierHits& tier : load.tiers) {
    tiers.push_back({{"tier", tier.tier},
                     {"decoded_hits", tier.decoded},
                     {"encoded_hits", tier.encoded},
                     {"cpu_seconds", Seconds(tier.cpu_ns)}});
  }
  return {{"session", load.session.value},
          {"batches", load.batches},
          {"samples", load.samples},
          {"stall_seconds", Seconds(load.stall_ns)},
          {"step_seconds", Seconds(load.step_ns)},
          {"outstanding_bytes", load.outstanding_bytes},
          {"wait_seconds",
           {{"sampler", Seconds(load.wait_sampler_ns)},
            {"source", Seconds(load.wait_source_ns)},
            {"compute", Seconds(load.wait_compute_ns)},
            {"python", Seconds(load.wait_python_ns)},
            {"queue", Seconds(load.wait_queue_ns)},
            {"network", Seconds(load.wait_network_ns)},
            {"copy", Seconds(load.wait_copy_ns)}}},
          {"idle_seconds", load.idle_known ? Json(Seconds(load.idle_ns)) : Json()},
          {"hit_samples", load.hit_samples},
          {"miss_samples", load.miss_samples},
          {"hit_cpu_seconds", Seconds(load.hit_cpu_ns)},
          {"miss_cpu_seconds", Seconds(load.miss_cpu_ns)},
          {"source_bytes", load.source_bytes},
          {"cache_tiers", std::move(tiers)},
          {"compared", load.compared},
          {"differed", load.differed}};
}

std::uint64_t BudgetOf(const wire::WorkerInfo& worker, const std::string& tier) {
  const auto named = std::ranges::find(worker.tiers, tier, &wire::TierBytes::tier);
  return named == worker.tiers.end() ? 0 : named->bytes;
}

}  // namespace

std::string JobsJson(const wire::ClusterStatus& now) {
  Json jobs = Json::array();
  for (const wire::JobStatus& job : now.jobs) {
    Json sessions = Json::array();
    for (const wire::SessionLoad& load : job.sessions) sessions.push_back(Session(load));
    Json workers = Json::array();
    for (const WorkerId id : job.workers) workers.push_back(id.value);
    jobs.push_back({{"job", job.job.value},
                    {"name", job.name},
                    {"hostname", job.hostname},
                    {"pid", job.pid},
                    {"state", job.state},
                    {"opened_ms", job.opened_ms},
                    {"workers", std::move(workers)},
                    {"tenant", job.tenant},
                    {"priority", job.priority},
                    {"group", job.group},
                    {"rank", job.rank},
                    {"granted_cores", job.granted_millicores / 1000.0},
                    {"demand_cores", job.demand_millicores / 1000.0},
                    {"cache_bytes_granted", job.cache_bytes},
                    {"source_bytes_per_second_limit", job.source_bytes_per_second},
                    {"samples_per_second", job.rate},
                    {"samples_per_second_when_ready", job.ready_rate},
                    {"wait_share", job.wait_share},
                    {"advice", job.advice},
                    {"sessions", std::move(sessions)}});
  }
  Json all = Cluster(now);
  all["jobs"] = std::move(jobs);
  return Dump(all);
}

std::string WorkersJson(const wire::ClusterStatus& now) {
  Json workers = Json::array();
  for (const wire::WorkerStatus& worker : now.workers) {
    const wire::WorkerHeartbeat& last = worker.last;
    Json jobs = Json::array();
    for (const JobId id : last.jobs) jobs.push_back(id.value);
    Json tiers = Json::array();
    for (const wire::TierUse& tier : last.tiers) {
      tiers.push_back({{"tier", tier.tier},
                       {"budget_bytes", BudgetOf(worker.info, tier.tier)},
                       {"bytes", tier.bytes},
                       {"entries", tier.entries},
                       {"hits", tier.hits},
                       {"misses", tier.misses}});
    }
    workers.push_back({{"worker", worker.info.worker.value},
                       {"hostname", worker.info.host.hostname},
                       {"pid", worker.info.host.pid},
                       {"state", worker.state},
                       {"version", worker.info.version},
                       {"cores", worker.info.cores},
                       {"local", worker.info.local},
                       {"endpoints", worker.info.endpoints},
                       {"jobs", std::move(jobs)},
                       {"cpu_seconds", last.cpu_seconds},
                       {"resident_bytes", last.resident_bytes},
                       {"cache_bytes", last.cache_bytes},
                       {"cache_hits", last.cache_hits},
                       {"cache_misses", last.cache_misses},
                       {"cache_tiers", std::move(tiers)},
                       {"samples", last.samples},
                       {"queued_samples", last.queued_samples},
                       {"silent_ms", worker.silent_ms}});
  }
  Json all = Cluster(now);
  all["workers"] = std::move(workers);
  return Dump(all);
}

}  // namespace headrace::cli
