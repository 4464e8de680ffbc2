#include "schemas/wire/convert_internal.h"

// What shall be done with data sets: by people to the coordinator, and by it to workers.
namespace headrace::wire {

Offset<fb::DatasetOrder> Write(Builder& b, const DatasetOrder& v) {
  const auto name = WriteText(b, v.name);
  return fb::CreateDatasetOrder(b, v.request, static_cast<fb::DatasetAction>(v.action), name,
                                v.bytes);
}

DatasetOrder Read(Reader& r, const fb::DatasetOrder* v) {
  const fb::DatasetAction action = v->action();
  return {.request = v->request(),
          .action = action <= fb::DatasetAction::Drop ? static_cast<DatasetAction>(action)
                                                      : DatasetAction::kUnknown,
          .name = r.Text(v->name()),
          .bytes = v->bytes()};
}

Offset<fb::DatasetOrdered> Write(Builder& b, const DatasetOrdered& v) {
  const auto status = Write(b, v.status);
  const auto name = WriteText(b, v.name);
  const auto text = WriteText(b, v.text);
  return fb::CreateDatasetOrdered(b, v.request, status, v.dataset, name, text, v.workers);
}

DatasetOrdered Read(Reader& r, const fb::DatasetOrdered* v) {
  return {.request = v->request(),
          .status = Read(r, v->status()),
          .dataset = v->dataset(),
          .name = r.Text(v->name()),
          .text = r.Text(v->text()),
          .workers = v->workers()};
}

Offset<fb::KeptJob> Write(Builder& b, const KeptJob& v) {
  return fb::CreateKeptJob(b, v.job.value, v.bytes);
}

KeptJob Read(Reader& r, const fb::KeptJob* v) {
  return {.job = r.ReadId<JobId>(v->job(), "job that is kept"), .bytes = v->bytes()};
}

Offset<fb::DropOrder> Write(Builder& b, const DropOrder& v) {
  const auto jobs = WriteIds(b, v.jobs);
  return fb::CreateDropOrder(b, v.number, jobs);
}

DropOrder Read(Reader& r, const fb::DropOrder* v) {
  return {.number = v->number(), .jobs = r.Ids<JobId>(v->jobs(), "jobs of a drop")};
}

Offset<fb::FillOrder> Write(Builder& b, const FillOrder& v) {
  return fb::CreateFillOrder(b, v.job.value, v.bytes_per_second, v.part, v.parts);
}

FillOrder Read(Reader& r, const fb::FillOrder* v) {
  r.Require(v->part() < v->parts(), "part of a fill");
  return {.job = r.ReadId<JobId>(v->job(), "job of a fill"),
          .bytes_per_second = v->bytes_per_second(),
          .part = v->part(),
          .parts = v->parts()};
}

}  // namespace headrace::wire
