#include "dataworker/source/core/remembered_source.h"

#include <array>
#include <mutex>
#include <utility>
#include <vector>

namespace headrace::dataworker {
namespace {

constexpr std::size_t kPlaces = 65536;  // of 64 bytes
constexpr std::size_t kLocks = 64;

// The identities that were answered last, by row. Shared, because sinks may outlive the source.
class IdentityBook {
 public:
  explicit IdentityBook(Clock& clock) : clock_(clock) {}

  // `asked`: before the source looked, so that the time begins no later than its answer's.
  void Note(std::int64_t row, const RowAnswer& answer, SteadyTime asked) {
    if (!answer.status.ok()) return;
    const std::size_t at = PlaceOf(row);
    const std::lock_guard lock(locks_[at % kLocks]);
    places_[at] = {row, answer.sample.content, asked + answer.valid_for};
  }
  std::optional<RowAnswer> Find(std::int64_t row) {
    const SteadyTime now = clock_.Now();
    const std::size_t at = PlaceOf(row);
    const std::lock_guard lock(locks_[at % kLocks]);
    const Known& known = places_[at];
    if (known.row != row || known.until <= now) return std::nullopt;
    RowAnswer answer;
    answer.sample.content = known.content;
    answer.valid_for = known.until - now;
    return answer;
  }
  // Whether one was answered, however long ago; of many rows the last ones are known.
  [[nodiscard]] bool Knows(std::int64_t row) {
    const std::size_t at = PlaceOf(row);
    const std::lock_guard lock(locks_[at % kLocks]);
    return places_[at].row == row;
  }
  [[nodiscard]] SteadyTime Now() const { return clock_.Now(); }

 private:
  struct Known {
    std::int64_t row = -1;
    ContentIdentity content;
    SteadyTime until{};
  };
  static std::size_t PlaceOf(std::int64_t row) { return static_cast<std::size_t>(row) % kPlaces; }

  Clock& clock_;
  std::array<std::mutex, kLocks> locks_;
  std::vector<Known> places_ = std::vector<Known>(kPlaces);  // each guarded by its lock
};

class RememberedSource final : public Source {
 public:
  RememberedSource(std::unique_ptr<Source> source, Clock& clock)
      : source_(std::move(source)), book_(std::make_shared<IdentityBook>(clock)) {}
  [[nodiscard]] std::int64_t rows() const override { return source_->rows(); }
  [[nodiscard]] int files() const override { return source_->files(); }
  [[nodiscard]] bool cacheable() const override { return source_->cacheable(); }
  [[nodiscard]] bool rereads_from_memory() const override { return source_->rereads_from_memory(); }
  [[nodiscard]] bool waits() const override { return source_->waits(); }
  [[nodiscard]] bool is_far() const override { return source_->is_far(); }
  [[nodiscard]] bool is_far_and_new(std::int64_t row) const override {
    return source_->is_far_and_new(row) && row >= 0 && !book_->Knows(row);
  }
  [[nodiscard]] std::optional<RowAnswer> Now(Ask ask, std::int64_t row,
                                             ScratchBuffer& buffer) const override {
    if (ask == Ask::kIdentity && row >= 0 && row < source_->rows()) {
      if (std::optional<RowAnswer> known = book_->Find(row)) return known;
    }
    const SteadyTime asked = book_->Now();
    std::optional<RowAnswer> answer = source_->Now(ask, row, buffer);
    if (answer && Identifies(ask)) book_->Note(row, *answer, asked);
    return answer;
  }
  void Fetch(Ask ask, std::span<const std::int64_t> rows, Sink sink) const override {
    source_->Fetch(ask, rows, Noting(ask, rows, std::move(sink)));
  }
  [[nodiscard]] bool is_metered() const override { return source_->is_metered(); }
  void FetchMetered(Ask ask, std::span<const std::int64_t> rows, Sink sink,
                    std::shared_ptr<remote::Meter> meter) const override {
    source_->FetchMetered(ask, rows, Noting(ask, rows, std::move(sink)), std::move(meter));
  }
  void Stop() override { source_->Stop(); }
  [[nodiscard]] const Column* column(std::int32_t index) const override {
    return source_->column(index);
  }
  Status CopyColumn(std::int32_t index, std::int64_t row, MutableByteSpan out) const override {
    return source_->CopyColumn(index, row, out);
  }

 private:
  // The sink, which notes what the answers tell.
  [[nodiscard]] Sink Noting(Ask ask, std::span<const std::int64_t> rows, Sink sink) const {
    if (!Identifies(ask)) return sink;
    return [book = book_, asked = book_->Now(),
            of = std::vector<std::int64_t>(rows.begin(), rows.end()),
            sink = std::move(sink)](std::size_t index, RowAnswer answer) {
      book->Note(of[index], answer, asked);
      sink(index, std::move(answer));
    };
  }
  static bool Identifies(Ask ask) { return ask == Ask::kIdentity || ask == Ask::kBytes; }

  const std::unique_ptr<Source> source_;
  const std::shared_ptr<IdentityBook> book_;
};

}  // namespace

std::unique_ptr<Source> Remembered(std::unique_ptr<Source> source, Clock& clock) {
  return std::make_unique<RememberedSource>(std::move(source), clock);
}

}  // namespace headrace::dataworker
