#include "schemas/wire/convert_internal.h"
#include "schemas/wire/convert_metrics_internal.h"

// What jobs had in all, and jobs that are no more.
namespace headrace::wire {

Offset<fb::JobTotals> Write(Builder& b, const JobTotals& v) {
  fb::JobTotalsBuilder table(b);
  HEADRACE_JOB_TOTALS(HEADRACE_WRITE_METRIC);
  return table.Finish();
}

JobTotals Read(Reader& r, const fb::JobTotals* totals) {
  JobTotals out;
  if (totals == nullptr) return out;  // of an older coordinator
  const fb::JobTotals& v = *totals;
  HEADRACE_JOB_TOTALS(HEADRACE_READ_METRIC);
  return out;
}

Offset<fb::EndedJob> Write(Builder& b, const EndedJob& v) {
  const auto name = WriteText(b, v.name);
  const auto hostname = WriteText(b, v.hostname);
  const auto tenant = WriteText(b, v.tenant);
  const auto group = WriteText(b, v.group);
  const auto end = WriteText(b, v.end);
  const auto totals = Write(b, v.totals);
  return fb::CreateEndedJob(b, v.job.value, name, hostname, v.pid, tenant, group, v.rank,
                            v.opened_ms, v.ended_ms, end, totals);
}

EndedJob Read(Reader& r, const fb::EndedJob* v) {
  return {.job = r.ReadId<JobId>(v->job(), "ended job"),
          .name = r.Text(v->name()),
          .hostname = r.Text(v->hostname()),
          .pid = v->pid(),
          .tenant = r.Text(v->tenant()),
          .group = r.Text(v->group()),
          .rank = v->rank(),
          .opened_ms = v->opened_ms(),
          .ended_ms = v->ended_ms(),
          .end = r.Text(v->end()),
          .totals = Read(r, v->totals())};
}

}  // namespace headrace::wire
