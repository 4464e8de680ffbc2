#include "coordinator/state/journal_codec.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"

namespace headrace::coordinator {
namespace {

using Json = nlohmann::json;

Json Encode(const wire::HostIdentity& host) {
  return {
      {"hostname", host.hostname}, {"boot_id", host.boot_id}, {"uid", host.uid}, {"pid", host.pid}};
}
wire::HostIdentity DecodeHost(const Json& j) {
  wire::HostIdentity host;
  host.hostname = j.value("hostname", "");
  host.boot_id = j.value("boot_id", "");
  host.uid = j.value("uid", 0U);
  host.pid = j.value("pid", std::int64_t{0});
  return host;
}

Json Encode(const std::vector<wire::BadSample>& samples) {
  Json list = Json::array();
  for (const wire::BadSample& each : samples) {
    list.push_back({{"data_set", each.data_set},
                    {"row", each.row},
                    {"name", each.name},
                    {"cause", each.cause},
                    {"times", each.times}});
  }
  return list;
}
std::vector<wire::BadSample> DecodeSamples(const Json& list) {
  std::vector<wire::BadSample> samples;
  for (const Json& each : list) {
    samples.push_back({.data_set = each.at("data_set").get<std::uint64_t>(),
                       .row = each.at("row").get<std::int64_t>(),
                       .name = each.value("name", ""),
                       .cause = each.value("cause", ""),
                       .times = each.value("times", std::uint64_t{0}),
                       .held_back = true});
  }
  return samples;
}

Json Encode(const std::vector<wire::TierBytes>& tiers) {
  Json list = Json::array();
  for (const wire::TierBytes& each : tiers) list.push_back({each.tier, each.bytes});
  return list;
}
std::vector<wire::TierBytes> DecodeTiers(const Json& list) {
  std::vector<wire::TierBytes> tiers;
  for (const Json& each : list) {
    tiers.push_back({each.at(0).get<std::string>(), each.at(1).get<std::uint64_t>()});
  }
  return tiers;
}

wire::EndedJob DecodeEnded(const Json& j) {
  wire::EndedJob job{.job = JobId(j.at("job").get<std::int64_t>()),
                     .name = j.value("name", ""),
                     .hostname = j.value("hostname", ""),
                     .pid = j.value("pid", std::int64_t{0}),
                     .tenant = j.value("tenant", ""),
                     .group = j.value("group", ""),
                     .rank = j.value("rank", -1),
                     .opened_ms = j.value("opened_ms", std::int64_t{0}),
                     .ended_ms = j.value("ended_ms", std::int64_t{0}),
                     .end = j.value("end", ""),
                     .totals = {}};
  const Json totals = j.value("totals", Json::object());
  wire::JobTotals::EachMetric([&](const Metric& metric, auto member) {
    auto& value = job.totals.*member;
    value = totals.value(std::string(metric.name), value);
  });
  return job;
}

struct Encoder {
  Json operator()(const AddJob& u) const {
    return {{"type", "add_job"},
            {"job", u.job.value},
            {"consumer", u.consumer.value},
            {"token", u.token},
            {"name", u.name},
            {"host", Encode(u.host)},
            {"version", u.version},
            {"wanted_workers", u.wanted_workers},
            {"cache_bytes", u.cache_bytes},
            {"opened_ms", u.opened_ms},
            {"tenant", u.tenant},
            {"priority", u.priority},
            {"group", u.group},
            {"rank", u.rank},
            {"link_bytes_per_second", u.link_bytes_per_second},
            {"rack", u.rack}};
  }
  Json operator()(const MarkJobLost& u) const { return Id("job_lost", "job", u.job.value); }
  Json operator()(const ReviveJob& u) const { return Id("revive_job", "job", u.job.value); }
  Json operator()(const RemoveJob& u) const { return Id("remove_job", "job", u.job.value); }
  Json operator()(const AddSession& u) const {
    return {{"type", "add_session"},
            {"job", u.job.value},
            {"session", u.session.value},
            {"plan_name", u.plan_name},
            {"plan_hash", u.plan_hash},
            {"worker_nodes", u.split.worker_nodes},
            {"cache_node", u.split.cache_node},
            {"tail_node", u.split.tail_node},
            {"dataset", u.dataset},
            {"rows", u.rows},
            {"lanes_stay", u.lanes_stay},
            {"far", u.far},
            {"everywhere", u.everywhere},
            {"source", u.source},
            {"prefixes", u.prefixes},
            {"leaves", u.leaves}};
  }
  Json operator()(const RemoveSession& u) const {
    return {{"type", "remove_session"}, {"job", u.job.value}, {"session", u.session.value}};
  }
  Json operator()(const AddWorker& u) const {
    return {{"type", "add_worker"},
            {"worker", u.info.worker.value},
            {"token", u.token},
            {"endpoints", u.info.endpoints},
            {"arena_path", u.info.arena_path},
            {"host", Encode(u.info.host)},
            {"cores", u.info.cores},
            {"millicores", u.info.millicores},
            {"cache_bytes", u.info.cache_bytes},
            {"tiers", Encode(u.info.tiers)},
            {"local", u.info.local},
            {"share_from_bytes", u.info.share_from_bytes},
            {"link_bytes_per_second", u.info.link_bytes_per_second},
            {"rack", u.info.rack},
            {"member", u.info.member},
            {"version", u.info.version}};
  }
  Json operator()(const MarkWorkerLost& u) const {
    return Id("worker_lost", "worker", u.worker.value);
  }
  Json operator()(const ReviveWorker& u) const {
    return Id("revive_worker", "worker", u.worker.value);
  }
  Json operator()(const DrainWorker& u) const {
    Json j = Id("drain_worker", "worker", u.worker.value);
    if (!u.reason.empty()) j["reason"] = u.reason;
    return j;
  }
  Json operator()(const RemoveWorker& u) const {
    Json j = Id("remove_worker", "worker", u.worker.value);
    j["cpu_seconds"] = u.cpu_seconds;
    return j;
  }
  Json operator()(const SetLeases& u) const {
    Json workers = Json::array();
    for (const WorkerId id : u.workers) workers.push_back(id.value);
    return {{"type", "set_leases"},
            {"job", u.job.value},
            {"generation", u.generation},
            {"workers", std::move(workers)}};
  }
  Json operator()(const HoldBack& u) const {
    return {{"type", "hold_back"}, {"samples", Encode(u.samples)}};
  }
  Json operator()(const ForgetHeldBack&) const { return {{"type", "forget_held_back"}}; }
  Json operator()(const RememberJob& u) const {
    const wire::EndedJob& job = u.job;
    Json totals = Json::object();
    wire::JobTotals::EachMetric([&](const Metric& metric, auto member) {
      totals[std::string(metric.name)] = job.totals.*member;
    });
    return {{"type", "remember_job"},   {"job", job.job.value}, {"name", job.name},
            {"hostname", job.hostname}, {"pid", job.pid},       {"tenant", job.tenant},
            {"group", job.group},       {"rank", job.rank},     {"opened_ms", job.opened_ms},
            {"ended_ms", job.ended_ms}, {"end", job.end},       {"totals", std::move(totals)}};
  }
  Json operator()(const OrderJob& u) const {
    Json json = {{"type", "order_job"}, {"job", u.job.value}, {"cancelled", u.cancelled}};
    if (u.priority) json["priority"] = *u.priority;
    return json;
  }
  Json operator()(const RememberDataset& u) const {
    Json jobs = Json::array();
    for (const JobId id : u.jobs) jobs.push_back(id.value);
    return {{"type", "remember_dataset"}, {"dataset", u.dataset}, {"name", u.name},
            {"tenant", u.tenant},         {"rows", u.rows},       {"last", u.last.value},
            {"jobs", std::move(jobs)},    {"leaves", u.leaves}};
  }
  Json operator()(const PinDataset& u) const {
    return {{"type", "pin_dataset"}, {"dataset", u.dataset}, {"bytes", u.bytes}};
  }
  Json operator()(const UnpinDataset& u) const {
    return {{"type", "unpin_dataset"}, {"dataset", u.dataset}};
  }
  Json operator()(const SetCounters& u) const {
    return {{"type", "set_counters"},
            {"next_job", u.next_job},
            {"next_consumer", u.next_consumer},
            {"next_worker", u.next_worker},
            {"ended_cpu_seconds", u.ended_cpu_seconds}};
  }
  // Volatile updates have no record.
  template <typename T>
  Json operator()(const T&) const {
    HR_CHECK(false);
  }

  static Json Id(const char* type, const char* key, std::int64_t value) {
    return {{"type", type}, {key, value}};
  }
};

// Whether all numbers are whole but the seconds: a fraction in a damaged record is no id. Records are
// not nested deeper than `depth`.
bool HasWholeNumbers(const Json& j, bool seconds = false, int depth = 8) {
  if (j.is_number_float()) return seconds;
  if (!j.is_structured()) return true;
  if (depth == 0) return false;
  for (const auto& [key, value] : j.items()) {
    const bool is_time =
        j.is_object() && (key.ends_with("cpu_seconds") || key.ends_with("core_seconds"));
    if (!HasWholeNumbers(value, is_time, depth - 1)) return false;
  }
  return true;
}

Update DecodeFields(const std::string& type, const Json& j) {
  const auto job = [&] { return JobId(j.at("job").get<std::int64_t>()); };
  const auto worker = [&] { return WorkerId(j.at("worker").get<std::int64_t>()); };
  if (type == "add_job") {
    return AddJob{job(),
                  ConsumerId(j.at("consumer").get<std::int64_t>()),
                  j.at("token").get<std::string>(),
                  j.value("name", ""),
                  DecodeHost(j.at("host")),
                  j.value("version", ""),
                  j.value("wanted_workers", 0),
                  j.value("cache_bytes", std::uint64_t{0}),
                  j.value("opened_ms", std::int64_t{0}),
                  j.value("tenant", ""),
                  j.value("priority", 0),
                  j.value("group", ""),
                  j.value("rank", -1),
                  j.value("link_bytes_per_second", std::uint64_t{0}),
                  j.value("rack", "")};
  }
  if (type == "job_lost") return MarkJobLost{job()};
  if (type == "revive_job") return ReviveJob{job()};
  if (type == "remove_job") return RemoveJob{job()};
  if (type == "add_session") {
    wire::Split split;
    split.worker_nodes = j.at("worker_nodes").get<std::int32_t>();
    split.cache_node = j.at("cache_node").get<std::int32_t>();
    split.tail_node = j.value("tail_node", 0);
    return AddSession{job(),
                      SessionId(j.at("session").get<std::int64_t>()),
                      j.value("plan_name", ""),
                      j.at("plan_hash").get<std::uint64_t>(),
                      std::move(split),
                      j.value("dataset", std::uint64_t{0}),
                      j.value("rows", std::int64_t{0}),
                      j.value("lanes_stay", false),
                      j.value("far", false),
                      j.value("everywhere", false),
                      j.value("source", std::uint64_t{0}),
                      j.value("prefixes", std::vector<std::uint64_t>()),
                      j.value("leaves", std::uint64_t{0})};
  }
  if (type == "remove_session") {
    return RemoveSession{job(), SessionId(j.at("session").get<std::int64_t>())};
  }
  if (type == "add_worker") {
    AddWorker u;
    u.token = j.at("token").get<std::string>();
    u.info.worker = worker();
    u.info.endpoints = j.at("endpoints").get<std::vector<std::string>>();
    u.info.arena_path = j.value("arena_path", "");
    u.info.host = DecodeHost(j.at("host"));
    u.info.cores = j.value("cores", 1);
    u.info.millicores = j.value("millicores", std::uint32_t{0});
    u.info.version = j.value("version", "");
    u.info.cache_bytes = j.value("cache_bytes", std::uint64_t{0});
    if (const auto tiers = j.find("tiers"); tiers != j.end()) u.info.tiers = DecodeTiers(*tiers);
    u.info.local = j.value("local", false);
    u.info.share_from_bytes = j.value("share_from_bytes", u.info.share_from_bytes);
    u.info.link_bytes_per_second = j.value("link_bytes_per_second", std::uint64_t{0});
    u.info.rack = j.value("rack", "");
    u.info.member = j.value("member", "");
    return u;
  }
  if (type == "worker_lost") return MarkWorkerLost{worker()};
  if (type == "revive_worker") return ReviveWorker{worker()};
  if (type == "drain_worker") return DrainWorker{worker(), j.value("reason", "")};
  if (type == "remove_worker") return RemoveWorker{worker(), j.value("cpu_seconds", 0.0)};
  if (type == "set_leases") {
    SetLeases u{job(), j.at("generation").get<std::uint64_t>(), {}};
    for (const Json& id : j.at("workers")) u.workers.emplace_back(id.get<std::int64_t>());
    return u;
  }
  if (type == "hold_back") return HoldBack{DecodeSamples(j.at("samples"))};
  if (type == "forget_held_back") return ForgetHeldBack{};
  if (type == "remember_job") return RememberJob{DecodeEnded(j)};
  if (type == "order_job") {
    OrderJob u{job(), j.value("cancelled", false), std::nullopt};
    if (j.contains("priority")) u.priority = j.at("priority").get<std::int32_t>();
    return u;
  }
  if (type == "remember_dataset") {
    RememberDataset u{j.at("dataset").get<std::uint64_t>(),
                      j.value("name", ""),
                      j.value("tenant", ""),
                      j.value("rows", std::int64_t{0}),
                      JobId(j.at("last").get<std::int64_t>()),
                      {}};
    for (const Json& id : j.at("jobs")) u.jobs.emplace_back(id.get<std::int64_t>());
    u.leaves = j.value("leaves", false);
    return u;
  }
  if (type == "pin_dataset") {
    return PinDataset{j.at("dataset").get<std::uint64_t>(), j.value("bytes", std::uint64_t{0})};
  }
  if (type == "unpin_dataset") return UnpinDataset{j.at("dataset").get<std::uint64_t>()};
  if (type == "set_counters") {
    return SetCounters{j.at("next_job").get<std::int64_t>(),
                       j.at("next_consumer").get<std::int64_t>(),
                       j.at("next_worker").get<std::int64_t>(), j.value("ended_cpu_seconds", 0.0)};
  }
  throw Json::other_error::create(501, "unknown record type '" + type + "'", nullptr);
}

}  // namespace

std::string EncodeUpdate(const Update& update) {
  return std::visit(Encoder{}, update).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Update> DecodeUpdate(std::string_view text) {
  // nlohmann-json reports with exceptions; they stop here.
  try {
    const Json j = Json::parse(text);
    if (!HasWholeNumbers(j)) return DataLoss("unreadable record: a number that is not whole");
    return DecodeFields(j.at("type").get<std::string>(), j);
  } catch (const Json::exception& e) {
    return DataLoss(std::string("unreadable record: ") + e.what());
  }
}

}  // namespace headrace::coordinator
