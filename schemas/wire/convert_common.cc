#include "schemas/wire/convert_internal.h"

namespace headrace::wire {

Builder& ThreadBuilder() {
  static thread_local Builder builder(4096);
  builder.Clear();
  return builder;
}

Bytes TakeBody(Builder& builder) {
  constexpr std::size_t kKeepBytes = 1 << 20;
  const auto* data = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  Bytes body(data, data + builder.GetSize());
  if (body.size() > kKeepBytes) builder.Reset();  // one large plan must not pin its memory for ever
  return body;
}

Code ReadCode(fb::Code code) {
  return code <= fb::Code::OtherRelease ? static_cast<Code>(code) : Code::kUnknown;
}

Detail ReadDetail(fb::Detail detail) {
  return detail <= fb::Detail::WorkersFail ? static_cast<Detail>(detail) : Detail::kUnknown;
}

Offset<fb::Status> Write(Builder& b, const Status& v) {
  if (v.ok() && v.message().empty()) return 0;
  const auto message = WriteText(b, v.message());
  return fb::CreateStatus(b, static_cast<fb::Code>(v.code()), message,
                          static_cast<fb::Detail>(v.detail()));
}

Status Read(Reader& r, const fb::Status* v) {
  if (v == nullptr) return {};
  return {ReadCode(v->code()), r.Text(v->message()), ReadDetail(v->detail())};
}

Offset<fb::HostIdentity> Write(Builder& b, const HostIdentity& v) {
  const auto hostname = WriteText(b, v.hostname);
  const auto boot_id = WriteText(b, v.boot_id);
  return fb::CreateHostIdentity(b, hostname, boot_id, v.uid, v.pid);
}

HostIdentity Read(Reader& r, const fb::HostIdentity* v) {
  HostIdentity out;
  if (v == nullptr) return out;
  out.hostname = r.Text(v->hostname());
  out.boot_id = r.Text(v->boot_id());
  out.uid = v->uid();
  out.pid = v->pid();
  return out;
}

Offset<fb::Ping> Write(Builder& b, const Ping& v) { return fb::CreatePing(b, v.sequence); }

Ping Read(Reader&, const fb::Ping* v) { return {.sequence = v->sequence()}; }

Offset<fb::Pong> Write(Builder& b, const Pong& v) { return fb::CreatePong(b, v.sequence); }

Pong Read(Reader&, const fb::Pong* v) { return {.sequence = v->sequence()}; }

}  // namespace headrace::wire
