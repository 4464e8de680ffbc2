// Encoded images in files: the paths and labels of a file table.
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "dataworker/source/core/source.h"
#include "dataworker/source/local_dir/direct_reads.h"
#include "dataworker/source/local_dir/sample_file.h"
#include "schemas/wire/message.h"

namespace headrace::dataworker {
namespace {

// Rows that one task of an io thread asks for their identities, which take microseconds each.
constexpr std::size_t kIdentitiesATask = 16;

ContentIdentity IdentityOf(const struct stat& st) {
  constexpr std::int64_t kNanos = 1'000'000'000;
  const auto nanos = [](const timespec& time) {
    return static_cast<std::uint64_t>(time.tv_sec * kNanos + time.tv_nsec);
  };
  return {
      .place = {st.st_dev, st.st_ino},
      .version = {static_cast<std::uint64_t>(st.st_size), nanos(st.st_mtim), nanos(st.st_ctim)}};
}

Status CheckRegular(const struct stat& st, const std::string& path) {
  if (S_ISDIR(st.st_mode)) return {Code::kUnsupported, "is a directory: " + path};
  if (!S_ISREG(st.st_mode)) return {Code::kUnsupported, "not a regular file: " + path};
  if (static_cast<std::uint64_t>(st.st_size) > Source::kMaxEncodedBytes) {
    return {Code::kUnsupported, "larger than 1 GiB: " + path};
  }
  return {};
}

// How often the calling thread gave its processor up by itself.
long WaitsOfThisThread() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

// A file in the page cache is read on the caller's thread; any other one on an io thread, where the
// read may wait (DirectReads). An identity is never valid for longer than its use: nobody tells us
// when a file changes.
class LocalDir final : public Source {
 public:
  LocalDir(BlobContent table_bytes, wire::FileTableView table,
           const SourceRegistry::Environment& environment)
      : table_bytes_(std::move(table_bytes)),
        table_(std::move(table)),
        read_header_(environment.read_header),
        opener_(environment.allowed_roots),
        io_(*environment.io) {}

  [[nodiscard]] std::int64_t rows() const override { return table_.size(); }
  [[nodiscard]] bool cacheable() const override { return true; }
  [[nodiscard]] bool rereads_from_memory() const override { return true; }
  [[nodiscard]] bool waits() const override { return !direct_.direct(); }

  [[nodiscard]] std::optional<RowAnswer> Now(Ask ask, std::int64_t row,
                                             ScratchBuffer& buffer) const override {
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

  void Fetch(Ask ask, std::span<const std::int64_t> rows, Sink sink) const override {
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
  void Stop() override { stopped_ = true; }

  [[nodiscard]] const Column* column(std::int32_t index) const override {
    return index == 1 ? &label_ : nullptr;
  }
  Status CopyColumn(std::int32_t /*index*/, std::int64_t row, MutableByteSpan out) const override {
    HR_RETURN_IF_ERROR(CheckRow(row, rows()));
    const std::int64_t label = table_.Label(row);
    std::memcpy(out.data(), &label, sizeof(label));
    return {};
  }

 private:
  // Answers on an io thread, for as long as it takes.
  [[nodiscard]] RowAnswer Wait(Ask ask, std::int64_t row) const {
    if (Status valid = CheckRow(row, rows()); !valid.ok()) return RowAnswer::Failed(valid);
    if (stopped_) return RowAnswer::Failed(Unavailable("the source was stopped"));
    const auto buffer = std::make_shared<ScratchBuffer>();
    // First without waiting: that tells whether the file is in memory.
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

  [[nodiscard]] RowAnswer Answer(Ask ask, std::int64_t row, ScratchBuffer& buffer,
                                 Pace& pace) const {
    RowAnswer answer;
    const std::string path = table_.Path(row);
    switch (ask) {
      case Ask::kIdentity:
        answer.status = Identify(path, answer, pace);
        break;
      case Ask::kSpec:
        answer.status = Describe(path, buffer, answer, pace);
        break;
      case Ask::kBytes:
        answer.status = Read(path, buffer, answer, pace);
        break;
      case Ask::kWitness:
      case Ask::kWholeWitness:
        answer.status = BearWitness(path, ask == Ask::kWholeWitness, answer, pace);
        break;
    }
    return answer;
  }

  Status Identify(const std::string& path, RowAnswer& answer, Pace& pace) const {
    struct stat st;
    HR_RETURN_IF_ERROR(opener_.Stat(path, st, pace));
    HR_RETURN_IF_ERROR(CheckRegular(st, path));
    answer.sample.content = IdentityOf(st);
    return {};
  }

  Status Read(const std::string& path, ScratchBuffer& buffer, RowAnswer& answer, Pace& pace) const {
    HR_TRY(const File file, opener_.Open(path, pace));
    struct stat before, after;
    if (::fstat(file.fd(), &before) != 0) return FileStatus(errno, path);
    HR_RETURN_IF_ERROR(CheckRegular(before, path));
    const auto size = static_cast<std::size_t>(before.st_size);
    const MutableByteSpan out{
        reinterpret_cast<std::byte*>(buffer.Ensure(std::max(size, std::size_t{1}))), size};
    HR_TRY(const std::size_t got, ReadStart(file.fd(), out, path, pace));
    // A writer may be at work: bytes of two versions must not get the identity of one.
    if (::fstat(file.fd(), &after) != 0) return FileStatus(errno, path);
    if (got != size || !(IdentityOf(before) == IdentityOf(after))) {
      return Unavailable("changed while it was read: " + path);
    }
    answer.sample = {.bytes = out, .encoded = true, .row = {}, .content = IdentityOf(before)};
    answer.bytes_read = size;
    return {};
  }

  Status BearWitness(const std::string& path, bool whole, RowAnswer& answer, Pace& pace) const {
    HR_TRY(const File file, opener_.Open(path, pace));
    if (!pace.may_wait) {
      struct stat st;
      if (::fstat(file.fd(), &st) != 0) return FileStatus(errno, path);
      const auto size = static_cast<std::size_t>(st.st_size);
      const std::size_t end = std::min<std::size_t>(FileWitness::kEndBytes, size);
      CheckInMemory(file.fd(), 0, whole ? size : end, pace);
      if (!whole) CheckInMemory(file.fd(), size - end, size, pace);
      if (pace.given_up()) return Unavailable("not in memory: " + path);
    }
    HR_TRY(answer.witness, ReadWitness(file.fd(), whole, path));
    const std::uint64_t ends = std::min(2 * FileWitness::kEndBytes, answer.witness.size);
    answer.bytes_read = whole ? answer.witness.size : ends;
    return {};
  }

  Status Describe(const std::string& path, ScratchBuffer& buffer, RowAnswer& answer,
                  Pace& pace) const {
    HR_TRY(const File file, opener_.Open(path, pace));
    struct stat st;
    if (::fstat(file.fd(), &st) != 0) return FileStatus(errno, path);
    HR_RETURN_IF_ERROR(CheckRegular(st, path));
    const auto size = static_cast<std::size_t>(st.st_size);
    ByteSpan have;
    Status failed;
    const auto extend = [&](std::size_t wanted) -> ByteSpan {
      const std::size_t target = std::min(wanted, size);
      if (target <= have.size() || !failed.ok()) return have;
      // Ensure may lose the content, so the read starts over; headers that long are rare.
      const MutableByteSpan out{reinterpret_cast<std::byte*>(buffer.Ensure(target)), target};
      Result<std::size_t> got = ReadStart(file.fd(), out, path, pace);
      if (!got.ok()) {
        failed = got.status();
        have = {};
      } else {
        have = out.first(*got);
        answer.bytes_read += *got;
      }
      return have;
    };
    extend(kHeadBytes);
    HR_RETURN_IF_ERROR(failed);
    Result<TensorSpec> spec = read_header_(have, extend);
    HR_RETURN_IF_ERROR(failed);
    if (!spec.ok()) return spec.status().WithContext(path);
    answer.spec = *spec;
    return {};
  }

  BlobContent table_bytes_;  // keeps the view's memory
  wire::FileTableView table_;
  HeaderReader read_header_;
  Opener opener_;
  IoExecutor& io_;
  mutable DirectReads direct_;
  std::atomic<bool> stopped_ = false;
  Column label_{.dtype = DType::kI64, .row_shape = {}, .row_bytes = sizeof(std::int64_t)};
};

Result<std::unique_ptr<Source>> MakeLocalDir(const SourceLeaf& leaf,
                                             const SourceRegistry::Environment& environment) {
  HR_RETURN_IF_ERROR(CheckNoArgs(leaf));
  HR_CHECK(environment.io != nullptr);
  BlobContent bytes = environment.blob(leaf.table);
  if (!bytes) return NotFound("the file table of the plan is missing");
  HR_TRY(wire::FileTableView table, wire::FileTableView::Open(*bytes));
  return std::unique_ptr<Source>(
      std::make_unique<LocalDir>(std::move(bytes), std::move(table), environment));
}

}  // namespace

void RegisterSourceLocalDir(SourceRegistry& registry) { registry.Add("local_dir", MakeLocalDir); }

}  // namespace headrace::dataworker
