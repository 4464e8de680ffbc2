#include "schemas/wire/convert_internal.h"
#include "schemas/wire/convert_metrics_internal.h"

// Jobs, sessions and leases as the coordinator's clients see them.
namespace headrace::wire {

Offset<fb::OpenJob> Write(Builder& b, const OpenJob& v) {
  const auto token = WriteText(b, v.token);
  const auto name = WriteText(b, v.name);
  const auto host = Write(b, v.host);
  const auto version = WriteText(b, v.version);
  const auto tenant = WriteText(b, v.tenant);
  const auto group = WriteText(b, v.group);
  const auto rack = WriteText(b, v.rack);
  return fb::CreateOpenJob(b, v.request, token, name, host, version, v.wanted_workers,
                           v.cache_bytes, tenant, v.priority, group, v.rank,
                           v.link_bytes_per_second, rack);
}

OpenJob Read(Reader& r, const fb::OpenJob* v) {
  return {.request = v->request(),
          .token = r.Text(v->token()),
          .name = r.Text(v->name()),
          .host = Read(r, v->host()),
          .version = r.Text(v->version()),
          .wanted_workers = r.NotNegative(v->wanted_workers(), "wanted_workers"),
          .cache_bytes = v->cache_bytes(),
          .tenant = r.Text(v->tenant()),
          .priority = v->priority(),
          .group = r.Text(v->group()),
          .rank = v->rank(),
          .link_bytes_per_second = v->link_bytes_per_second(),
          .rack = r.Text(v->rack())};
}

Offset<fb::JobOpened> Write(Builder& b, const JobOpened& v) {
  const auto status = Write(b, v.status);
  return fb::CreateJobOpened(b, v.request, status, v.job.value, v.consumer.value, v.heartbeat_ms);
}

JobOpened Read(Reader& r, const fb::JobOpened* v) {
  r.Require(v->heartbeat_ms() > 0, "heartbeat_ms");
  return {.request = v->request(),
          .status = Read(r, v->status()),
          .job = r.ReadId<JobId>(v->job(), "job"),
          .consumer = r.ReadId<ConsumerId>(v->consumer(), "consumer"),
          .heartbeat_ms = v->heartbeat_ms()};
}

Offset<fb::OpenSession> Write(Builder& b, const OpenSession& v) {
  const auto plan = Write(b, v.plan);
  const auto token = WriteText(b, v.token);
  const auto files = v.files.empty() ? 0 : b.CreateVector(v.files);
  return fb::CreateOpenSession(b, v.request, v.job.value, v.session.value, plan, token, files,
                               v.warm);
}

OpenSession Read(Reader& r, const fb::OpenSession* v) {
  std::vector<std::uint64_t> files;
  if (v->files() != nullptr) files.assign(v->files()->begin(), v->files()->end());
  return {.request = v->request(),
          .job = r.ReadId<JobId>(v->job(), "job"),
          .session = r.ReadId<SessionId>(v->session(), "session"),
          .plan = Read(r, v->plan()),
          .token = r.Text(v->token()),
          .files = std::move(files),
          .warm = v->warm()};
}

Offset<fb::SessionOpened> Write(Builder& b, const SessionOpened& v) {
  const auto status = Write(b, v.status);
  const auto split = Write(b, v.split);
  const auto held_back = WriteAll(b, v.held_back);
  return fb::CreateSessionOpened(b, v.request, status, split, held_back);
}

SessionOpened Read(Reader& r, const fb::SessionOpened* v) {
  return {.request = v->request(),
          .status = Read(r, v->status()),
          .split = Read(r, v->split()),
          .held_back = ReadAll(r, v->held_back())};
}

Offset<fb::SessionLoad> Write(Builder& b, const SessionLoad& v) {
  const auto tiers = WriteTiers(b, v.tiers);
  fb::SessionLoadBuilder table(b);
  table.add_session(v.session.value);
  HEADRACE_SESSION_METRICS(HEADRACE_WRITE_METRIC);
  HEADRACE_LOAD_METRICS(HEADRACE_WRITE_METRIC);
  HEADRACE_BATCH_METRICS(HEADRACE_WRITE_METRIC);
  table.add_idle_known(v.idle_known);
  table.add_tiers(tiers);
  table.add_remaining_samples(v.remaining_samples);
  return table.Finish();
}

SessionLoad Read(Reader& r, const fb::SessionLoad* load) {
  const fb::SessionLoad& v = *load;
  SessionLoad out;
  out.session = r.ReadId<SessionId>(v.session(), "session");
  HEADRACE_SESSION_METRICS(HEADRACE_READ_METRIC);
  HEADRACE_LOAD_METRICS(HEADRACE_READ_METRIC);
  HEADRACE_BATCH_METRICS(HEADRACE_READ_METRIC);
  out.idle_known = v.idle_known();
  out.tiers = ReadTiers(r, v.tiers());
  out.remaining_samples = std::max<std::int64_t>(-1, v.remaining_samples());
  return out;
}

Offset<fb::UnfitWorker> Write(Builder& b, const UnfitWorker& v) {
  const auto reason = WriteText(b, v.reason);
  return fb::CreateUnfitWorker(b, v.worker.value, reason, v.slow);
}

UnfitWorker Read(Reader& r, const fb::UnfitWorker* v) {
  return {.worker = r.ReadId<WorkerId>(v->worker(), "worker"),
          .reason = r.Text(v->reason()),
          .slow = v->slow()};
}

Offset<fb::BadSample> Write(Builder& b, const BadSample& v) {
  const auto name = WriteText(b, v.name);
  const auto cause = WriteText(b, v.cause);
  return fb::CreateBadSample(b, v.data_set, v.row, name, cause, v.times, v.held_back);
}

BadSample Read(Reader& r, const fb::BadSample* v) {
  return {.data_set = v->data_set(),
          .row = v->row(),
          .name = r.Text(v->name()),
          .cause = r.Text(v->cause()),
          .times = v->times(),
          .held_back = v->held_back()};
}

Offset<fb::ConsumerHeartbeat> Write(Builder& b, const ConsumerHeartbeat& v) {
  const auto sessions = WriteAll(b, v.sessions);
  const auto suspected = WriteIds(b, v.suspected);
  const auto token = WriteText(b, v.token);
  const auto unfit = WriteAll(b, v.unfit);
  const auto bad = WriteAll(b, v.bad);
  const auto data_sets = WriteScalars(b, v.data_sets);
  return fb::CreateConsumerHeartbeat(b, v.request, v.job.value, v.consumer.value, sessions,
                                     suspected, token, unfit, bad, data_sets);
}

ConsumerHeartbeat Read(Reader& r, const fb::ConsumerHeartbeat* v) {
  return {.request = v->request(),
          .job = r.ReadId<JobId>(v->job(), "job"),
          .consumer = r.ReadId<ConsumerId>(v->consumer(), "consumer"),
          .sessions = ReadAll(r, v->sessions()),
          .suspected = r.Ids<WorkerId>(v->suspected(), "suspected"),
          .token = r.Text(v->token()),
          .unfit = ReadAll(r, v->unfit()),
          .bad = ReadAll(r, v->bad()),
          .data_sets = r.Scalars(v->data_sets())};
}

Offset<fb::Leases> Write(Builder& b, const Leases& v) {
  const auto status = Write(b, v.status);
  const auto workers = WriteAll(b, v.workers);
  const auto held_back = WriteAll(b, v.held_back);
  return fb::CreateLeases(b, v.request, status, v.job.value, v.generation, workers, held_back);
}

Leases Read(Reader& r, const fb::Leases* v) {
  return {.request = v->request(),
          .status = Read(r, v->status()),
          .job = r.ReadId<JobId>(v->job(), "job"),
          .generation = v->generation(),
          .workers = ReadAll(r, v->workers()),
          .held_back = ReadAll(r, v->held_back())};
}

Offset<fb::CloseSession> Write(Builder& b, const CloseSession& v) {
  const auto token = WriteText(b, v.token);
  return fb::CreateCloseSession(b, v.job.value, v.session.value, token);
}

CloseSession Read(Reader& r, const fb::CloseSession* v) {
  return {.job = r.ReadId<JobId>(v->job(), "job"),
          .session = r.ReadId<SessionId>(v->session(), "session"),
          .token = r.Text(v->token())};
}

Offset<fb::CloseJob> Write(Builder& b, const CloseJob& v) {
  const auto token = WriteText(b, v.token);
  return fb::CreateCloseJob(b, v.job.value, token);
}

CloseJob Read(Reader& r, const fb::CloseJob* v) {
  return {.job = r.ReadId<JobId>(v->job(), "job"), .token = r.Text(v->token())};
}

}  // namespace headrace::wire
