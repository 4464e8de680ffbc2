#include "dataworker/source/files/file_source.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

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

}  // namespace

FileSource::FileSource(BlobContent table_bytes, wire::FileTableView table, int files,
                       const SourceRegistry::Environment& environment)
    : table_bytes_(std::move(table_bytes)),
      table_(std::move(table)),
      files_(files),
      reader_(environment.allowed_roots, environment.read_header),
      io_(*environment.io) {
  HR_CHECK(files > 0 && table_.size() % files == 0);
}

Result<FileSource::Table> FileSource::OpenTable(const SourceLeaf& leaf,
                                                const SourceRegistry::Environment& environment) {
  HR_CHECK(environment.io != nullptr);
  BlobContent bytes = environment.blob(leaf.table);
  if (!bytes) return NotFound("the file table of the plan is missing");
  HR_TRY(wire::FileTableView view, wire::FileTableView::Open(*bytes));
  return Table{std::move(bytes), std::move(view)};
}

std::optional<RowAnswer> FileSource::Now(Ask ask, std::int64_t row, ScratchBuffer& buffer) const {
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

void FileSource::Fetch(Ask ask, std::span<const std::int64_t> rows, Sink sink) const {
  const std::size_t each = ask == Ask::kIdentity ? kIdentitiesATask : 1;
  const auto shared = std::make_shared<const Sink>(std::move(sink));
  for (std::size_t from = 0; from < rows.size(); from += each) {
    const auto part = rows.subspan(from, std::min(each, rows.size() - from));
    io_.Submit(
        [this, ask, from, part = std::vector<std::int64_t>(part.begin(), part.end()), shared] {
          for (std::size_t i = 0; i < part.size(); ++i) (*shared)(from + i, Wait(ask, part[i]));
        });
  }
}

Status FileSource::CopyColumn(std::int32_t /*index*/, std::int64_t row, MutableByteSpan out) const {
  HR_RETURN_IF_ERROR(CheckRow(row, rows()));
  const std::int64_t label = table_.Label(row * files_);
  std::memcpy(out.data(), &label, sizeof(label));
  return {};
}

RowAnswer FileSource::Wait(Ask ask, std::int64_t row) const {
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
