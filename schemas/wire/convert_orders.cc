#include "schemas/wire/convert_internal.h"

// What people order about jobs and workers.
namespace headrace::wire {

Offset<fb::ClusterOrder> Write(Builder& b, const ClusterOrder& v) {
  const auto workers = WriteIds(b, v.workers);
  return fb::CreateClusterOrder(b, v.request, static_cast<fb::ClusterAction>(v.action), workers,
                                v.job.value, v.priority);
}

ClusterOrder Read(Reader& r, const fb::ClusterOrder* v) {
  const fb::ClusterAction action = v->action();
  ClusterOrder out;
  out.request = v->request();
  if (action <= fb::ClusterAction::SetPriority) out.action = static_cast<ClusterAction>(action);
  const std::size_t workers = v->workers() == nullptr ? 0 : v->workers()->size();
  r.Require(workers <= kMaxOrderedWorkers, "workers of an order");
  if (workers > kMaxOrderedWorkers) return out;
  out.workers = r.Ids<WorkerId>(v->workers(), "workers of an order");
  out.job = r.ReadId<JobId>(v->job(), "job of an order");
  out.priority = v->priority();
  return out;
}

Offset<fb::ClusterOrdered> Write(Builder& b, const ClusterOrdered& v) {
  const auto status = Write(b, v.status);
  const auto text = WriteText(b, v.text);
  return fb::CreateClusterOrdered(b, v.request, status, text);
}

ClusterOrdered Read(Reader& r, const fb::ClusterOrdered* v) {
  return {.request = v->request(), .status = Read(r, v->status()), .text = r.Text(v->text())};
}

}  // namespace headrace::wire
