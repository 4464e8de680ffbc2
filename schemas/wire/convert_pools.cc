#include "schemas/wire/convert_internal.h"
#include "schemas/wire/convert_metrics_internal.h"

// The pools that workers come from.
namespace headrace::wire {

std::string_view TroubleWord(const Status& trouble) {
  if (trouble.ok()) return "";
  switch (trouble.detail()) {
    case Detail::kQuota:
      return "quota";
    case Detail::kForbidden:
      return "forbidden";
    case Detail::kNoImage:
      return "no_image";
    case Detail::kNoPlace:
      return "no_place";
    case Detail::kUnreachable:
      return "unreachable";
    case Detail::kNoRoom:
      return "no_room";
    case Detail::kWorkersFail:
      return "workers_fail";
    case Detail::kNone:
    case Detail::kNoSession:
    case Detail::kSlotTooSmall:
    case Detail::kOtherSpec:
    case Detail::kOtherContent:
    case Detail::kNoFile:
    case Detail::kNotAllowed:
    case Detail::kEndsWorkers:
    case Detail::kUnknown:
      break;
  }
  return "other";
}

Offset<fb::PoolStatus> Write(Builder& b, const PoolStatus& v) {
  const auto name = WriteText(b, v.name);
  const auto kind = WriteText(b, v.kind);
  const auto state = WriteText(b, v.state);
  const auto what = WriteText(b, v.what);
  const auto remedy = WriteText(b, v.remedy);
  Offset<fb::Status> trouble;
  if (!v.trouble.ok()) trouble = Write(b, v.trouble);
  fb::PoolStatusBuilder table(b);
  table.add_name(name);
  table.add_kind(kind);
  table.add_state(state);
  table.add_preemptible(v.preemptible);
  table.add_most(v.most);
  if (!trouble.IsNull()) table.add_trouble(trouble);
  table.add_trouble_ms(v.trouble_ms);
  table.add_trouble_stands(v.trouble_stands);
  table.add_what(what);
  table.add_remedy(remedy);
  HEADRACE_POOL_METRICS(HEADRACE_WRITE_METRIC);
  return table.Finish();
}

PoolStatus Read(Reader& r, const fb::PoolStatus* pool) {
  const fb::PoolStatus& v = *pool;
  PoolStatus out;
  out.name = r.Text(v.name());
  out.kind = r.Text(v.kind());
  out.state = r.Text(v.state());
  out.preemptible = v.preemptible();
  out.most = v.most();
  out.trouble = Read(r, v.trouble());
  out.trouble_ms = v.trouble_ms();
  out.trouble_stands = v.trouble_stands();
  out.what = r.Text(v.what());
  out.remedy = r.Text(v.remedy());
  HEADRACE_POOL_METRICS(HEADRACE_READ_METRIC);
  return out;
}

}  // namespace headrace::wire
