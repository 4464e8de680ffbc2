#include "schemas/wire/convert_internal.h"
#include "schemas/wire/convert_metrics_internal.h"

// The cluster as `headrace jobs`, `workers` and `top` show it.
namespace headrace::wire {

namespace {

Offset<fb::JobUsage> Write(Builder& b, const JobUsage& v) {
  const auto tiers = WriteTiers(b, v.tiers);
  Offset<flatbuffers::Vector<std::uint64_t>> sampled;
  if (!v.sampled.empty()) sampled = b.CreateVector(v.sampled);
  fb::JobUsageBuilder table(b);
  table.add_job(v.job.value);
  HEADRACE_USAGE_METRICS(HEADRACE_WRITE_METRIC);
  table.add_tiers(tiers);
  table.add_sampled_below(v.sampled_below);
  if (!v.sampled.empty()) table.add_sampled(sampled);
  return table.Finish();
}

JobUsage Read(Reader& r, const fb::JobUsage* usage) {
  const fb::JobUsage& v = *usage;
  JobUsage out;
  out.job = r.ReadId<JobId>(v.job(), "job of usage");
  HEADRACE_USAGE_METRICS(HEADRACE_READ_METRIC);
  out.tiers = ReadTiers(r, v.tiers());
  out.sampled_below = v.sampled_below();
  const std::size_t sampled = v.sampled() == nullptr ? 0 : v.sampled()->size();
  r.Require(sampled <= kMaxSampledNames, "sampled names");
  if (sampled == 0 || sampled > kMaxSampledNames) return out;
  out.sampled.assign(v.sampled()->begin(), v.sampled()->end());
  return out;
}

Offset<fb::CachePeer> Write(Builder& b, const CachePeer& v) {
  const auto endpoint = WriteText(b, v.endpoint);
  const auto pass = WriteText(b, v.pass);
  return fb::CreateCachePeer(b, v.worker.value, endpoint, v.cache_bytes, pass);
}

CachePeer Read(Reader& r, const fb::CachePeer* v) {
  return {.worker = r.ReadId<WorkerId>(v->worker(), "worker of a peer"),
          .endpoint = r.Text(v->endpoint()),
          .cache_bytes = v->cache_bytes(),
          .pass = r.Text(v->pass())};
}

Offset<fb::JobGrant> Write(Builder& b, const JobGrant& v) {
  const auto tiers = WriteTiers(b, v.tiers);
  const auto write = [&b](const CachePeer& peer) { return Write(b, peer); };
  const auto peers = WriteTables(b, v.peers, write);
  const auto wide_peers = WriteTables(b, v.wide_peers, write);
  return fb::CreateJobGrant(b, v.job.value, v.millicores, v.cache_bytes, v.source_bytes_per_second,
                            tiers, peers, v.cache_encoded, v.wide, wide_peers, v.data_set,
                            v.cache_nodes, v.replicas, v.idle);
}

// Bounded like tiers: the body may name one table many times.
std::vector<CachePeer> ReadPeers(Reader& r, const flatbuffers::Vector<Offset<fb::CachePeer>>* v) {
  std::vector<CachePeer> peers;
  r.Require(v == nullptr || v->size() <= kMaxPeers, "peers");
  if (v == nullptr || v->size() > kMaxPeers) return peers;
  for (const fb::CachePeer* peer : *v) peers.push_back(Read(r, peer));
  return peers;
}

JobGrant Read(Reader& r, const fb::JobGrant* v) {
  return {.job = r.ReadId<JobId>(v->job(), "job of a grant"),
          .millicores = v->millicores(),
          .cache_bytes = v->cache_bytes(),
          .source_bytes_per_second = v->source_bytes_per_second(),
          .tiers = ReadTiers(r, v->tiers()),
          .peers = ReadPeers(r, v->peers()),
          .cache_encoded = v->cache_encoded(),
          .wide = v->wide(),
          .wide_peers = ReadPeers(r, v->wide_peers()),
          .data_set = v->data_set(),
          .cache_nodes = v->cache_nodes(),
          .replicas = v->replicas(),
          .idle = v->idle()};
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

// Bounded, and all their jobs together: the body may name one table many times.
std::vector<DropOrder> ReadDrops(Reader& r, const flatbuffers::Vector<Offset<fb::DropOrder>>* v) {
  std::vector<DropOrder> drops;
  if (v == nullptr) return drops;
  r.Require(v->size() <= kMaxDropOrders, "drops");
  std::size_t jobs = 0;
  for (flatbuffers::uoffset_t i = 0; i < v->size() && i < kMaxDropOrders; ++i) {
    jobs += v->Get(i)->jobs() == nullptr ? 0 : v->Get(i)->jobs()->size();
    r.Require(jobs <= kMaxJobsOfWorker, "jobs of drops");
    if (jobs > kMaxJobsOfWorker) return drops;
    drops.push_back(Read(r, v->Get(i)));
  }
  return drops;
}

}  // namespace

Offset<fb::WorkerHeartbeat> Write(Builder& b, const WorkerHeartbeat& v) {
  const auto jobs = WriteIds(b, v.jobs);
  const auto usage = WriteOfJobs(b, v.usage);
  const auto tiers = WriteTiers(b, v.tiers);
  const auto token = WriteText(b, v.token);
  fb::WorkerHeartbeatBuilder table(b);
  table.add_request(v.request);
  table.add_worker(v.worker.value);
  HEADRACE_WORKER_METRICS(HEADRACE_WRITE_METRIC);
  table.add_jobs(jobs);
  table.add_usage(usage);
  table.add_tiers(tiers);
  table.add_token(token);
  table.add_dropped(v.dropped);
  return table.Finish();
}

WorkerHeartbeat Read(Reader& r, const fb::WorkerHeartbeat* beat) {
  WorkerHeartbeat out;
  if (beat == nullptr) return out;
  const fb::WorkerHeartbeat& v = *beat;
  out.request = v.request();
  out.worker = r.ReadId<WorkerId>(v.worker(), "worker");
  HEADRACE_WORKER_METRICS(HEADRACE_READ_METRIC);
  out.jobs = r.Ids<JobId>(v.jobs(), "jobs");
  std::size_t sampled = 0;  // bounded like drops: the body may name one table many times
  if (v.usage() != nullptr && v.usage()->size() <= kMaxJobsOfWorker) {
    for (const fb::JobUsage* usage : *v.usage()) {
      sampled += usage->sampled() == nullptr ? 0 : usage->sampled()->size();
    }
  }
  r.Require(sampled <= kMaxSampledOfWorker, "sampled names");
  if (sampled > kMaxSampledOfWorker) return out;
  out.usage = ReadOfJobs<JobUsage>(r, v.usage(), "usage");
  out.tiers = ReadTiers(r, v.tiers());
  out.token = r.Text(v.token());
  out.dropped = v.dropped();
  return out;
}

Offset<fb::WorkerDirective> Write(Builder& b, const WorkerDirective& v) {
  const auto status = Write(b, v.status);
  const auto jobs = WriteIds(b, v.jobs);
  const auto grants = WriteOfJobs(b, v.grants);
  const auto kept = WriteAll(b, v.kept);
  const auto drops = WriteAll(b, v.drops);
  const auto fills = WriteAll(b, v.fills);
  return fb::CreateWorkerDirective(b, v.request, status, v.drain, jobs, grants, kept, drops, fills);
}

WorkerDirective Read(Reader& r, const fb::WorkerDirective* v) {
  return {.request = v->request(),
          .status = Read(r, v->status()),
          .drain = v->drain(),
          .jobs = r.Ids<JobId>(v->jobs(), "jobs"),
          .grants = ReadOfJobs<JobGrant>(r, v->grants(), "grants"),
          .kept = ReadOfJobs<KeptJob>(r, v->kept(), "kept jobs"),
          .drops = ReadDrops(r, v->drops()),
          .fills = ReadOfJobs<FillOrder>(r, v->fills(), "fills")};
}

Offset<fb::LeaveWorker> Write(Builder& b, const LeaveWorker& v) {
  const auto token = WriteText(b, v.token);
  return fb::CreateLeaveWorker(b, v.worker.value, token);
}

LeaveWorker Read(Reader& r, const fb::LeaveWorker* v) {
  return {.worker = r.ReadId<WorkerId>(v->worker(), "worker"), .token = r.Text(v->token())};
}

Offset<fb::StatusQuery> Write(Builder& b, const StatusQuery& v) {
  const auto token = WriteText(b, v.token);
  return fb::CreateStatusQuery(b, v.request, v.job.value, token, v.whole.value, v.ended);
}

StatusQuery Read(Reader& r, const fb::StatusQuery* v) {
  return {.request = v->request(),
          .job = r.ReadId<JobId>(v->job(), "job"),
          .token = r.Text(v->token()),
          .whole = r.ReadId<JobId>(v->whole(), "whole"),
          .ended = v->ended()};
}

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
  const auto unfit = WriteAll(b, v.unfit);
  const auto bad = WriteAll(b, v.bad);
  Offset<fb::JobTotals> totals;
  if (v.totals != JobTotals{}) totals = Write(b, v.totals);
  Offset<fb::JobNeed> need;
  if (v.need != JobNeed{}) need = Write(b, v.need);
  Offset<fb::GrantReason> why;
  if (v.why != GrantReason{}) why = Write(b, v.why);
  fb::JobStatusBuilder table(b);
  table.add_job(v.job.value);
  table.add_name(name);
  table.add_hostname(hostname);
  table.add_pid(v.pid);
  table.add_state(state);
  table.add_opened_ms(v.opened_ms);
  table.add_sessions(sessions);
  table.add_workers(workers);
  table.add_tenant(tenant);
  table.add_priority(v.priority);
  table.add_group(group);
  table.add_rank(v.rank);
  HEADRACE_JOB_METRICS(HEADRACE_WRITE_METRIC);
  table.add_advice(advice);
  table.add_unfit(unfit);
  table.add_bad(bad);
  table.add_bad_known(v.bad_known);
  table.add_remaining_samples(v.remaining_samples);
  if (!totals.IsNull()) table.add_totals(totals);
  if (!need.IsNull()) table.add_need(need);
  if (!why.IsNull()) table.add_why(why);
  return table.Finish();
}

JobStatus Read(Reader& r, const fb::JobStatus* job) {
  const fb::JobStatus& v = *job;
  JobStatus out;
  out.job = r.ReadId<JobId>(v.job(), "job");
  out.name = r.Text(v.name());
  out.hostname = r.Text(v.hostname());
  out.pid = v.pid();
  out.state = r.Text(v.state());
  out.opened_ms = v.opened_ms();
  out.sessions = ReadAll(r, v.sessions());
  out.workers = r.Ids<WorkerId>(v.workers(), "workers");
  out.tenant = r.Text(v.tenant());
  out.priority = v.priority();
  out.group = r.Text(v.group());
  out.rank = v.rank();
  HEADRACE_JOB_METRICS(HEADRACE_READ_METRIC);
  out.advice = r.Text(v.advice());
  out.unfit = ReadAll(r, v.unfit());
  out.bad = ReadAll(r, v.bad());
  out.bad_known = v.bad_known();
  out.remaining_samples = std::max<std::int64_t>(-1, v.remaining_samples());
  out.totals = Read(r, v.totals());
  out.need = Read(r, v.need());
  out.why = Read(r, v.why());
  return out;
}

Offset<fb::DatasetStatus> Write(Builder& b, const DatasetStatus& v) {
  const auto name = WriteText(b, v.name);
  const auto form = WriteText(b, v.form);
  const auto jobs = WriteIds(b, v.jobs);
  const auto parts = WriteTables(b, v.parts, [&b](const DatasetPart& part) {
    return fb::CreateDatasetPart(b, part.worker.value, part.quota_bytes, part.bytes, part.entries,
                                 part.hits, part.misses);
  });
  const auto phase = WriteText(b, v.phase);
  const auto tenant = WriteText(b, v.tenant);
  return fb::CreateDatasetStatus(b, v.dataset, name, form, v.rows, v.bytes, jobs, parts, phase,
                                 v.hit_share, v.hit_when_full, tenant, v.pinned, v.pinned_bytes,
                                 v.warm, v.dropping, v.duplicate_share, v.duplicate_share_error,
                                 v.sampled_entries, v.replica_bytes, v.replica_entries,
                                 v.replica_hits);
}

// Bounded like peers: `parts` counts those of all data sets of the message.
DatasetStatus Read(Reader& r, const fb::DatasetStatus* dataset, std::size_t& parts) {
  const fb::DatasetStatus& v = *dataset;
  DatasetStatus out{.dataset = v.dataset(),
                    .name = r.Text(v.name()),
                    .form = r.Text(v.form()),
                    .rows = v.rows(),
                    .bytes = v.bytes(),
                    .jobs = r.Ids<JobId>(v.jobs(), "jobs of a data set"),
                    .parts = {},
                    .phase = r.Text(v.phase()),
                    .hit_share = v.hit_share(),
                    .hit_when_full = v.hit_when_full(),
                    .tenant = r.Text(v.tenant()),
                    .pinned = v.pinned(),
                    .pinned_bytes = v.pinned_bytes(),
                    .warm = v.warm(),
                    .dropping = v.dropping()};
  HEADRACE_DATASET_METRICS(HEADRACE_READ_METRIC);
  if (v.parts() == nullptr) return out;
  parts += v.parts()->size();
  r.Require(parts <= kMaxDatasetParts, "parts of data sets");
  if (parts > kMaxDatasetParts) return out;
  for (const fb::DatasetPart* part : *v.parts()) {
    out.parts.push_back({.worker = r.ReadId<WorkerId>(part->worker(), "worker of a data set"),
                         .quota_bytes = part->quota_bytes(),
                         .bytes = part->bytes(),
                         .entries = part->entries(),
                         .hits = part->hits(),
                         .misses = part->misses()});
  }
  return out;
}

}  // namespace

Offset<fb::ClusterStatus> Write(Builder& b, const ClusterStatus& v) {
  const auto status = Write(b, v.status);
  const auto version = WriteText(b, v.version);
  const auto jobs = WriteTables(b, v.jobs, [&b](const JobStatus& job) { return Write(b, job); });
  const auto workers =
      WriteTables(b, v.workers, [&b](const WorkerStatus& worker) { return Write(b, worker); });
  const auto datasets =
      WriteTables(b, v.datasets, [&b](const DatasetStatus& each) { return Write(b, each); });
  Offset<flatbuffers::Vector<Offset<fb::EndedJob>>> ended;
  if (!v.ended.empty()) {
    ended = WriteTables(b, v.ended, [&b](const EndedJob& each) { return Write(b, each); });
  }
  Offset<flatbuffers::Vector<Offset<fb::PoolStatus>>> pools;
  if (!v.pools.empty()) pools = WriteAll(b, v.pools);
  Offset<fb::PolicyRules> rules;
  if (v.rules != PolicyRules{}) rules = Write(b, v.rules);
  fb::ClusterStatusBuilder table(b);
  table.add_request(v.request);
  table.add_status(status);
  table.add_version(version);
  table.add_wall_ms(v.wall_ms);
  HEADRACE_CLUSTER_METRICS(HEADRACE_WRITE_METRIC);
  table.add_jobs(jobs);
  table.add_workers(workers);
  table.add_datasets(datasets);
  if (!v.ended.empty()) table.add_ended(ended);
  if (!rules.IsNull()) table.add_rules(rules);
  if (!v.pools.empty()) table.add_pools(pools);
  return table.Finish();
}

ClusterStatus Read(Reader& r, const fb::ClusterStatus* status) {
  const fb::ClusterStatus& v = *status;
  ClusterStatus out;
  out.request = v.request();
  out.status = Read(r, v.status());
  out.version = r.Text(v.version());
  out.wall_ms = v.wall_ms();
  HEADRACE_CLUSTER_METRICS(HEADRACE_READ_METRIC);
  out.rules = Read(r, v.rules());
  if (v.jobs() != nullptr) {
    for (const fb::JobStatus* job : *v.jobs()) out.jobs.push_back(Read(r, job));
  }
  if (v.workers() != nullptr) {
    for (const fb::WorkerStatus* worker : *v.workers()) out.workers.push_back(Read(r, worker));
  }
  if (v.datasets() != nullptr) {
    r.Require(v.datasets()->size() <= kMaxDatasetParts, "data sets");
    std::size_t parts = 0;
    for (const fb::DatasetStatus* each : *v.datasets()) {
      out.datasets.push_back(Read(r, each, parts));
    }
  }
  if (v.pools() != nullptr) {
    r.Require(v.pools()->size() <= kMaxPools, "pools");
    if (v.pools()->size() > kMaxPools) return out;
    out.pools = ReadAll(r, v.pools());
  }
  if (v.ended() != nullptr) {
    r.Require(v.ended()->size() <= kMaxEndedJobs, "ended jobs");
    if (v.ended()->size() > kMaxEndedJobs) return out;
    for (const fb::EndedJob* each : *v.ended()) out.ended.push_back(Read(r, each));
  }
  return out;
}

}  // namespace headrace::wire
