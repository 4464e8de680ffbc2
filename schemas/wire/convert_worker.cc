#include "schemas/wire/convert_internal.h"

// Workers, as they introduce themselves, and as people are told of them.
namespace headrace::wire {

Offset<fb::WorkerInfo> Write(Builder& b, const WorkerInfo& v) {
  const auto endpoints = WriteTexts(b, v.endpoints);
  const auto arena_path = WriteText(b, v.arena_path);
  const auto host = Write(b, v.host);
  const auto version = WriteText(b, v.version);
  const auto tiers = WriteTiers(b, v.tiers);
  const auto pass = WriteText(b, v.pass);
  const auto rack = WriteText(b, v.rack);
  const auto member = WriteText(b, v.member);
  return fb::CreateWorkerInfo(b, v.worker.value, endpoints, arena_path, host, v.cores, version,
                              v.cache_bytes, v.local, tiers, pass, v.share_from_bytes, v.millicores,
                              v.link_bytes_per_second, rack, member);
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
          .tiers = ReadTiers(r, v->tiers()),
          .pass = r.Text(v->pass()),
          .share_from_bytes = v->share_from_bytes(),
          .millicores = v->millicores(),
          .link_bytes_per_second = v->link_bytes_per_second(),
          .rack = r.Text(v->rack()),
          .member = r.Text(v->member())};
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

Offset<fb::WorkerStatus> Write(Builder& b, const WorkerStatus& v) {
  const auto info = Write(b, v.info);
  const auto state = WriteText(b, v.state);
  const auto last = Write(b, v.last);
  const auto reason = WriteText(b, v.reason);
  const auto slow_for = WriteIds(b, v.slow_for);
  return fb::CreateWorkerStatus(b, info, state, last, v.silent_ms, reason, slow_for, v.speed);
}

WorkerStatus Read(Reader& r, const fb::WorkerStatus* v) {
  return {.info = Read(r, v->info()),
          .state = r.Text(v->state()),
          .last = Read(r, v->last()),
          .silent_ms = v->silent_ms(),
          .reason = r.Text(v->reason()),
          .slow_for = r.Ids<JobId>(v->slow_for(), "slow_for"),
          .speed = r.NotNegative(v->speed(), "speed")};
}

}  // namespace headrace::wire
