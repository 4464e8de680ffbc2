#include "schemas/wire/convert_internal.h"

// Workers, and the cluster as `headrace jobs`, `workers` and `top` show it.
namespace headrace::wire {

Offset<fb::WorkerInfo> Write(Builder& b, const WorkerInfo& v) {
  const auto endpoints = WriteTexts(b, v.endpoints);
  const auto arena_path = WriteText(b, v.arena_path);
  const auto host = Write(b, v.host);
  const auto version = WriteText(b, v.version);
  const auto tiers = WriteTiers(b, v.tiers);
  return fb::CreateWorkerInfo(b, v.worker.value, endpoints, arena_path, host, v.cores, version,
                              v.cache_bytes, v.local, tiers);
}

WorkerInfo Read(Reader& r, const fb::WorkerInfo* v) {
  if (v == nullptr) return {};
  return {.worker = r.ReadId<WorkerId>(v->worker(), "worker"),
          .endpoints = r.Texts(v->endpoints()),
          .arena_path = r.Text(v->arena_path()),
          .host = Read(r, v->host()),
          .cores = r.NotNegative(v->cores(), "cores"),
          .version = r.Text(v->version()),
          .cache_bytes = v->cache_bytes(),
          .local = v->local(),
          .tiers = ReadTiers(r, v->tiers())};
}

Offset<fb::RegisterWorker> Write(Builder& b, const RegisterWorker& v) {
  const auto token = WriteText(b, v.token);
  const auto info = Write(b, v.info);
  return fb::CreateRegisterWorker(b, v.request, token, info);
}

RegisterWorker Read(Reader& r, const fb::RegisterWorker* v) {
  return {.request = v->request(), .token = r.Text(v->token()), .info = Read(r, v->info())};
}

Offset<fb::WorkerRegistered> Write(Builder& b, const WorkerRegistered& v) {
  const auto status = Write(b, v.status);
  return fb::CreateWorkerRegistered(b, v.request, status, v.worker.value, v.heartbeat_ms);
}

WorkerRegistered Read(Reader& r, const fb::WorkerRegistered* v) {
  r.Require(v->heartbeat_ms() > 0, "heartbeat_ms");
  return {.request = v->request(),
          .status = Read(r, v->status()),
          .worker = r.ReadId<WorkerId>(v->worker(), "worker"),
          .heartbeat_ms = v->heartbeat_ms()};
}

namespace {

Offset<fb::JobUsage> Write(Builder& b, const JobUsage& v) {
  const auto tiers = WriteTiers(b, v.tiers);
  return fb::CreateJobUsage(b, v.job.value, v.cpu_ns, v.samples, v.source_bytes, v.limited_ns,
                            v.cache_bytes, v.cache_entries, v.cache_hits, v.cache_misses,
                            v.queued_samples, tiers);
}

JobUsage Read(Reader& r, const fb::JobUsage* v) {
  return {.job = r.ReadId<JobId>(v->job(), "job of usage"),
          .cpu_ns = v->cpu_ns(),
          .samples = v->samples(),
          .source_bytes = v->source_bytes(),
          .limited_ns = v->limited_ns(),
          .cache_bytes = v->cache_bytes(),
          .cache_entries = v->cache_entries(),
          .cache_hits = v->cache_hits(),
          .cache_misses = v->cache_misses(),
          .queued_samples = v->queued_samples(),
          .tiers = ReadTiers(r, v->tiers())};
}

Offset<fb::JobGrant> Write(Builder& b, const JobGrant& v) {
  const auto tiers = WriteTiers(b, v.tiers);
  return fb::CreateJobGrant(b, v.job.value, v.millicores, v.cache_bytes, v.source_bytes_per_second,
                            tiers);
}

JobGrant Read(Reader& r, const fb::JobGrant* v) {
  return {.job = r.ReadId<JobId>(v->job(), "job of a grant"),
          .millicores = v->millicores(),
          .cache_bytes = v->cache_bytes(),
          .source_bytes_per_second = v->source_bytes_per_second(),
          .tiers = ReadTiers(r, v->tiers())};
}

template <typename T>
auto WriteOfJobs(Builder& b, const std::vector<T>& items) {
  return WriteTables(b, items, [&b](const T& item) { return Write(b, item); });
}
// The body may name one table many times, so the count has a bound of its own.
template <typename T, typename Table>
std::vector<T> ReadOfJobs(Reader& r, const flatbuffers::Vector<Offset<Table>>* tables,
                          std::string_view what) {
  std::vector<T> out;
  if (tables == nullptr) return out;
  r.Require(tables->size() <= kMaxJobsOfWorker, what);
  if (tables->size() > kMaxJobsOfWorker) return out;
  out.reserve(tables->size());
  for (const Table* table : *tables) out.push_back(Read(r, table));
  return out;
}

}  // namespace

Offset<fb::WorkerHeartbeat> Write(Builder& b, const WorkerHeartbeat& v) {
  const auto jobs = WriteIds(b, v.jobs);
  const auto usage = WriteOfJobs(b, v.usage);
  const auto tiers = WriteTiers(b, v.tiers);
  return fb::CreateWorkerHeartbeat(b, v.request, v.worker.value, v.cpu_seconds, v.resident_bytes,
                                   v.cache_bytes, v.cache_hits, v.cache_misses, v.samples,
                                   v.queued_samples, jobs, usage, tiers);
}

WorkerHeartbeat Read(Reader& r, const fb::WorkerHeartbeat* v) {
  if (v == nullptr) return {};
  return {.request = v->request(),
          .worker = r.ReadId<WorkerId>(v->worker(), "worker"),
          .cpu_seconds = r.NotNegative(v->cpu_seconds(), "cpu_seconds"),
          .resident_bytes = v->resident_bytes(),
          .cache_bytes = v->cache_bytes(),
          .cache_hits = v->cache_hits(),
          .cache_misses = v->cache_misses(),
          .samples = v->samples(),
          .queued_samples = v->queued_samples(),
          .jobs = r.Ids<JobId>(v->jobs(), "jobs"),
          .usage = ReadOfJobs<JobUsage>(r, v->usage(), "usage"),
          .tiers = ReadTiers(r, v->tiers())};
}

Offset<fb::WorkerDirective> Write(Builder& b, const WorkerDirective& v) {
  const auto status = Write(b, v.status);
  const auto jobs = WriteIds(b, v.jobs);
  const auto grants = WriteOfJobs(b, v.grants);
  return fb::CreateWorkerDirective(b, v.request, status, v.drain, jobs, grants);
}

WorkerDirective Read(Reader& r, const fb::WorkerDirective* v) {
  return {.request = v->request(),
          .status = Read(r, v->status()),
          .drain = v->drain(),
          .jobs = r.Ids<JobId>(v->jobs(), "jobs"),
          .grants = ReadOfJobs<JobGrant>(r, v->grants(), "grants")};
}

Offset<fb::LeaveWorker> Write(Builder& b, const LeaveWorker& v) {
  return fb::CreateLeaveWorker(b, v.worker.value);
}

LeaveWorker Read(Reader& r, const fb::LeaveWorker* v) {
  return {.worker = r.ReadId<WorkerId>(v->worker(), "worker")};
}

Offset<fb::StatusQuery> Write(Builder& b, const StatusQuery& v) {
  return fb::CreateStatusQuery(b, v.request);
}

StatusQuery Read(Reader&, const fb::StatusQuery* v) { return {.request = v->request()}; }

namespace {

Offset<fb::JobStatus> Write(Builder& b, const JobStatus& v) {
  const auto name = WriteText(b, v.name);
  const auto hostname = WriteText(b, v.hostname);
  const auto state = WriteText(b, v.state);
  const auto sessions = WriteAll(b, v.sessions);
  const auto workers = WriteIds(b, v.workers);
  const auto tenant = WriteText(b, v.tenant);
  const auto group = WriteText(b, v.group);
  const auto advice = WriteText(b, v.advice);
  return fb::CreateJobStatus(b, v.job.value, name, hostname, v.pid, state, v.opened_ms, sessions,
                             workers, tenant, v.priority, group, v.rank, v.rate, v.ready_rate,
                             v.wait_share, v.demand_millicores, v.granted_millicores, v.cache_bytes,
                             v.source_bytes_per_second, advice);
}

JobStatus Read(Reader& r, const fb::JobStatus* v) {
  return {.job = r.ReadId<JobId>(v->job(), "job"),
          .name = r.Text(v->name()),
          .hostname = r.Text(v->hostname()),
          .pid = v->pid(),
          .state = r.Text(v->state()),
          .opened_ms = v->opened_ms(),
          .sessions = ReadAll(r, v->sessions()),
          .workers = r.Ids<WorkerId>(v->workers(), "workers"),
          .tenant = r.Text(v->tenant()),
          .priority = v->priority(),
          .group = r.Text(v->group()),
          .rank = v->rank(),
          .rate = r.NotNegative(v->rate(), "rate"),
          .ready_rate = r.NotNegative(v->ready_rate(), "ready_rate"),
          .wait_share = r.NotNegative(v->wait_share(), "wait_share"),
          .demand_millicores = v->demand_millicores(),
          .granted_millicores = v->granted_millicores(),
          .cache_bytes = v->cache_bytes(),
          .source_bytes_per_second = v->source_bytes_per_second(),
          .advice = r.Text(v->advice())};
}

Offset<fb::WorkerStatus> Write(Builder& b, const WorkerStatus& v) {
  const auto info = wire::Write(b, v.info);
  const auto state = WriteText(b, v.state);
  const auto last = wire::Write(b, v.last);
  return fb::CreateWorkerStatus(b, info, state, last, v.silent_ms);
}

WorkerStatus Read(Reader& r, const fb::WorkerStatus* v) {
  return {.info = wire::Read(r, v->info()),
          .state = r.Text(v->state()),
          .last = wire::Read(r, v->last()),
          .silent_ms = v->silent_ms()};
}

}  // namespace

Offset<fb::ClusterStatus> Write(Builder& b, const ClusterStatus& v) {
  const auto status = Write(b, v.status);
  const auto version = WriteText(b, v.version);
  const auto jobs = WriteTables(b, v.jobs, [&b](const JobStatus& job) { return Write(b, job); });
  const auto workers =
      WriteTables(b, v.workers, [&b](const WorkerStatus& worker) { return Write(b, worker); });
  return fb::CreateClusterStatus(b, v.request, status, version, v.wall_ms, v.cpu_seconds, jobs,
                                 workers, v.ended_cpu_seconds);
}

ClusterStatus Read(Reader& r, const fb::ClusterStatus* v) {
  ClusterStatus out;
  out.request = v->request();
  out.status = Read(r, v->status());
  out.version = r.Text(v->version());
  out.wall_ms = v->wall_ms();
  out.cpu_seconds = r.NotNegative(v->cpu_seconds(), "cpu_seconds");
  out.ended_cpu_seconds = r.NotNegative(v->ended_cpu_seconds(), "ended_cpu_seconds");
  if (v->jobs() != nullptr) {
    for (const fb::JobStatus* job : *v->jobs()) out.jobs.push_back(Read(r, job));
  }
  if (v->workers() != nullptr) {
    for (const fb::WorkerStatus* worker : *v->workers()) out.workers.push_back(Read(r, worker));
  }
  return out;
}

}  // namespace headrace::wire
