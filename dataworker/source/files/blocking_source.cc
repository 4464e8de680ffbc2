#include "dataworker/source/files/blocking_source.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/check.h"

namespace headrace::dataworker {
namespace {

// Rows that one task of an io thread asks for their identities, which take microseconds each.
constexpr std::size_t kIdentitiesATask = 16;

// How often the calling thread gave its processor up by itself.
long WaitsOfThisThread() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

IoExecutor& IoOf(const SourceRegistry::Environment& environment) {
  HR_CHECK(environment.io != nullptr);
  return *environment.io;
}

}  // namespace

BlockingSource::BlockingSource(const SourceRegistry::Environment& environment)
    : io_(IoOf(environment)) {}

std::optional<RowAnswer> BlockingSource::Now(Ask ask, std::int64_t row,
                                             ScratchBuffer& buffer) const {
  if (Status valid = CheckRow(row, rows()); !valid.ok()) return RowAnswer::Failed(valid);
  if (!direct_.direct()) return std::nullopt;
  Pace pace{.may_wait = direct_.measured()};
  const long waits = direct_.measured() ? WaitsOfThisThread() : 0;
  RowAnswer answer = Answer(ask, row, buffer, pace);
  if (pace.cannot_tell) direct_.Measure();
  const bool waited = direct_.measured() && WaitsOfThisThread() != waits;
  direct_.CountDirect(!pace.given_up() && !waited);
  if (pace.given_up()) return std::nullopt;
  return answer;
}

std::vector<std::vector<std::size_t>> BlockingSource::Tasks(
    Ask ask, std::span<const std::int64_t> rows) const {
  const std::size_t each = ask == Ask::kIdentity ? kIdentitiesATask : 1;
  std::vector<std::vector<std::size_t>> tasks;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % each == 0) tasks.emplace_back();
    tasks.back().push_back(i);
  }
  return tasks;
}

void BlockingSource::Fetch(Ask ask, std::span<const std::int64_t> rows, Sink sink) const {
  const auto shared = std::make_shared<const Sink>(std::move(sink));
  for (std::vector<std::size_t>& task : Tasks(ask, rows)) {
    std::vector<std::int64_t> of;
    for (const std::size_t index : task) of.push_back(rows[index]);
    io_.Submit([this, ask, task = std::move(task), of = std::move(of), shared] {
      if (!stopped_) Expect(ask, of);
      for (std::size_t i = 0; i < task.size(); ++i) (*shared)(task[i], Wait(ask, of[i]));
    });
  }
}

Status BlockingSource::CopyColumn(std::int32_t /*index*/, std::int64_t row,
                                  MutableByteSpan out) const {
  HR_RETURN_IF_ERROR(CheckRow(row, rows()));
  const std::int64_t label = LabelOf(row);
  std::memcpy(out.data(), &label, sizeof(label));
  return {};
}

RowAnswer BlockingSource::Wait(Ask ask, std::int64_t row) const {
  if (Status valid = CheckRow(row, rows()); !valid.ok()) return RowAnswer::Failed(valid);
  if (stopped_) return RowAnswer::Failed(Unavailable("the source was stopped"));
  const auto buffer = std::make_shared<ScratchBuffer>();
  // First without waiting: that tells whether the files are in memory.
  Pace pace{.may_wait = direct_.measured()};
  const long waits = WaitsOfThisThread();
  RowAnswer answer = Answer(ask, row, *buffer, pace);
  bool in_memory = !pace.given_up();
  if (pace.cannot_tell) direct_.Measure();
  if (pace.given_up()) {
    Pace patient;
    answer = Answer(ask, row, *buffer, patient);
  }
  if (direct_.measured()) in_memory = WaitsOfThisThread() == waits;
  direct_.CountElsewhere(in_memory);
  if (ask == Ask::kBytes && answer.status.ok()) answer.hold = buffer;
  return answer;
}

}  // namespace headrace::dataworker
