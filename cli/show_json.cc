#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "cli/show.h"
#include "cli/show_objects.h"

namespace headrace::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Adds the metrics of `numbers` to an object, in the units that people see.
template <typename T>
void AddMetrics(const T& numbers, Json& to) {
  T::EachMetric([&](const Metric& metric, auto member) {
    const auto value = numbers.*member;
    const bool whole = std::is_integral_v<decltype(value)> && ShownName(metric) == metric.name;
    to[ShownName(metric)] =
        whole ? Json(value) : Json(ShownValue(metric, static_cast<double>(value)));
  });
}

Json Session(const wire::SessionLoad& load) {
  Json tiers = Json::array();
  for (const wire::TierHits& tier : load.tiers) {
    tiers.push_back({{"tier", tier.tier},
                     {"decoded_hits", tier.decoded},
                     {"encoded_hits", tier.encoded},
                     {"cpu_seconds", static_cast<double>(tier.cpu_ns) * 1e-9}});
  }
  constexpr std::string_view kWait = "wait_", kSeconds = "_seconds";
  Json flat = Json::object();
  AddMetrics(load, flat);
  if (!load.idle_known) flat["idle_seconds"] = nullptr;
  Json session = {{"session", load.session.value}};
  for (const auto& [name, value] : flat.items()) {
    if (name.starts_with(kWait)) {
      const std::size_t cause = name.size() - kWait.size() - kSeconds.size();
      session["wait_seconds"][name.substr(kWait.size(), cause)] = value;
    } else {
      session[name] = value;
    }
  }
  session["cache_tiers"] = std::move(tiers);
  return session;
}

// The stall is an object by cause.
Json Totals(const wire::JobTotals& totals) {
  constexpr std::string_view kStall = "stall_", kSeconds = "_seconds";
  Json flat = Json::object();
  AddMetrics(totals, flat);
  Json json = Json::object();
  for (const auto& [name, value] : flat.items()) {
    if (name.starts_with(kStall)) {
      const std::size_t cause = name.size() - kStall.size() - kSeconds.size();
      json["stall_seconds"][name.substr(kStall.size(), cause)] = value;
    } else {
      json[name] = value;
    }
  }
  return json;
}

// What the policy was told, and what it said; null: nothing yet.
Json Need(const wire::JobNeed& need) {
  if (need == wire::JobNeed{}) return {};
  return {{"samples_per_second", need.ready_rate},
          {"core_seconds_per_hit", need.hit_cost},
          {"core_seconds_per_miss", need.miss_cost},
          {"source_bytes_per_miss", need.miss_bytes},
          {"hit_share", need.hit_share}};
}

Json Why(const wire::GrantReason& why) {
  if (why == wire::GrantReason{}) return {};
  return {{"rule", why.rule},
          {"cores", why.cores},
          {"wanted_cores", why.wanted_cores},
          {"fair_cores", why.fair_cores},
          {"floor", why.floor},
          {"rival", why.rival.valid() ? Json(why.rival.value) : Json()},
          {"rival_cores", why.rival.valid() ? Json(why.rival_cores) : Json()},
          {"text", why.text}};
}

Json Ended(const wire::EndedJob& job) {
  return {{"job", job.job.value},
          {"name", job.name},
          {"hostname", job.hostname},
          {"pid", job.pid},
          {"state", job.end},
          {"opened_ms", job.opened_ms},
          {"ended_ms", job.ended_ms},
          {"tenant", job.tenant},
          {"group", job.group},
          {"rank", job.rank},
          {"totals", Totals(job.totals)}};
}

std::uint64_t BudgetOf(const wire::WorkerInfo& worker, const std::string& tier) {
  const auto named = std::ranges::find(worker.tiers, tier, &wire::TierBytes::tier);
  return named == worker.tiers.end() ? 0 : named->bytes;
}

}  // namespace

Json ClusterObject(const wire::ClusterStatus& now) {
  Json json = {{"version", now.version}, {"wall_ms", now.wall_ms}};
  AddMetrics(now, json);
  return json;
}

Json JobObject(const wire::JobStatus& job) {
  Json sessions = Json::array();
  for (const wire::SessionLoad& load : job.sessions) sessions.push_back(Session(load));
  Json workers = Json::array();
  for (const WorkerId id : job.workers) workers.push_back(id.value);
  Json entry = {{"job", job.job.value},
                {"name", job.name},
                {"hostname", job.hostname},
                {"pid", job.pid},
                {"state", job.state},
                {"opened_ms", job.opened_ms},
                {"workers", std::move(workers)},
                {"tenant", job.tenant},
                {"priority", job.priority},
                {"group", job.group},
                {"rank", job.rank}};
  AddMetrics(job, entry);
  entry["advice"] = job.advice;
  entry["need"] = Need(job.need);
  entry["why"] = Why(job.why);
  entry["remaining_samples"] = job.remaining_samples < 0 ? Json() : Json(job.remaining_samples);
  Json unfit = Json::array();
  for (const wire::UnfitWorker& worker : job.unfit) {
    unfit.push_back(
        {{"worker", worker.worker.value}, {"reason", worker.reason}, {"slow", worker.slow}});
  }
  entry["unfit"] = std::move(unfit);
  Json bad = Json::array();
  for (const wire::BadSample& sample : job.bad) {
    bad.push_back({{"row", sample.row},
                   {"name", sample.name},
                   {"cause", sample.cause},
                   {"times", sample.times},
                   {"held_back", sample.held_back}});
  }
  entry["bad_samples"] = std::move(bad);
  entry["bad_samples_known"] = std::max<std::size_t>(job.bad_known, job.bad.size());
  entry["totals"] = Totals(job.totals);
  entry["sessions"] = std::move(sessions);
  return entry;
}

std::string JobsJson(const wire::ClusterStatus& now) {
  Json jobs = Json::array();
  for (const wire::JobStatus& job : now.jobs) jobs.push_back(JobObject(job));
  Json all = ClusterObject(now);
  all["jobs"] = std::move(jobs);
  if (!now.ended.empty()) {
    Json ended = Json::array();
    for (const wire::EndedJob& job : now.ended) ended.push_back(Ended(job));
    all["ended_jobs"] = std::move(ended);
  }
  return Dump(all);
}

Result<std::string> JobJson(const wire::ClusterStatus& now, JobId id) {
  const auto job = std::ranges::find(now.jobs, id, &wire::JobStatus::job);
  if (job != now.jobs.end()) return Dump(JobObject(*job));
  const auto ended = std::ranges::find(now.ended, id, &wire::EndedJob::job);
  if (ended != now.ended.end()) return Dump(Ended(*ended));
  return NotFound("no job " + std::to_string(id.value) + "; `headrace jobs --all` lists them");
}

Json WorkerObject(const wire::WorkerStatus& worker) {
  const wire::WorkerHeartbeat& last = worker.last;
  Json jobs = Json::array();
  for (const JobId id : last.jobs) jobs.push_back(id.value);
  Json entry = {{"worker", worker.info.worker.value},
                {"hostname", worker.info.host.hostname},
                {"pid", worker.info.host.pid},
                {"state", worker.state},
                {"version", worker.info.version},
                {"cores", worker.info.usable_cores()},
                {"speed", worker.speed},
                {"link_bytes_per_second", worker.info.link_bytes_per_second},
                {"rack", worker.info.rack},
                {"member", worker.info.member},
                {"local", worker.info.local},
                {"endpoints", worker.info.endpoints},
                {"jobs", std::move(jobs)}};
  AddMetrics(last, entry);
  Json tiers = Json::array();
  for (const wire::TierUse& tier : last.tiers) {
    tiers.push_back({{"tier", tier.tier},
                     {"budget_bytes", BudgetOf(worker.info, tier.tier)},
                     {"bytes", tier.bytes},
                     {"entries", tier.entries},
                     {"hits", tier.hits},
                     {"misses", tier.misses}});
  }
  entry["cache_tiers"] = std::move(tiers);
  entry["silent_ms"] = worker.silent_ms;
  entry["reason"] = worker.reason;
  Json slow_for = Json::array();
  for (const JobId id : worker.slow_for) slow_for.push_back(id.value);
  entry["slow_for"] = std::move(slow_for);
  return entry;
}

std::string WorkersJson(const wire::ClusterStatus& now) {
  Json workers = Json::array();
  for (const wire::WorkerStatus& worker : now.workers) workers.push_back(WorkerObject(worker));
  Json all = ClusterObject(now);
  all["workers"] = std::move(workers);
  return Dump(all);
}

}  // namespace headrace::cli
