#include "tests/simulation/sim_source.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace headrace::simulation {
namespace {

using dataworker::Ask;
using dataworker::RowAnswer;
using dataworker::Source;
using std::chrono::microseconds;
using std::chrono::milliseconds;

class SimSource final : public Source {
 public:
  SimSource(EventQueue& events, Dice dice, std::shared_ptr<SimProcess> process, std::int64_t rows,
            SimRows content, double fails)
      : events_(events),
        dice_(dice),
        process_(std::move(process)),
        rows_(rows),
        content_(std::move(content)),
        fails_(fails) {}
  ~SimSource() override { Stop(); }

  [[nodiscard]] std::int64_t rows() const override { return rows_; }
  [[nodiscard]] bool cacheable() const override { return false; }
  [[nodiscard]] bool rereads_from_memory() const override { return false; }
  [[nodiscard]] bool waits() const override { return true; }
  [[nodiscard]] std::optional<RowAnswer> Now(Ask /*ask*/, std::int64_t /*row*/,
                                             ScratchBuffer& /*buffer*/) const override {
    return std::nullopt;
  }
  void Fetch(Ask ask, std::span<const std::int64_t> rows, Sink sink) const override {
    const auto shared = std::make_shared<const Sink>(std::move(sink));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (stopped_) {
        (*shared)(i, RowAnswer::Failed(Unavailable("the source was stopped")));
        continue;
      }
      const std::uint64_t number = ++last_;
      open_[number] = {ask, rows[i], i, shared};
      events_.After(dice_.Between(microseconds(100), milliseconds(10)),
                    [this, number, weak = std::weak_ptr(alive_)] {
                      if (weak.expired()) return;
                      process_->Run([this, number, weak] {
                        if (!weak.expired()) Answer(number);
                      });
                    });
    }
  }
  void Stop() override {
    stopped_ = true;
    for (auto& [number, row] : std::exchange(open_, {})) {
      (*row.sink)(row.index, RowAnswer::Failed(Unavailable("the source was stopped")));
    }
  }
  [[nodiscard]] const Column* column(std::int32_t index) const override {
    return index == 1 ? &label_ : nullptr;
  }
  Status CopyColumn(std::int32_t /*index*/, std::int64_t row, MutableByteSpan out) const override {
    HR_RETURN_IF_ERROR(dataworker::CheckRow(row, rows_));
    const std::int64_t label = content_(row).label;
    std::memcpy(out.data(), &label, sizeof(label));
    return Status::Ok();
  }

 private:
  struct Row {
    Ask ask = Ask::kBytes;
    std::int64_t row = 0;
    std::size_t index = 0;
    std::shared_ptr<const Sink> sink;
  };

  void Answer(std::uint64_t number) const {
    const auto found = open_.extract(number);
    if (!found) return;
    const Row& row = found.mapped();
    (*row.sink)(row.index, AnswerTo(row));
  }
  RowAnswer AnswerTo(const Row& row) const {
    if (const Status known = dataworker::CheckRow(row.row, rows_); !known.ok()) {
      return RowAnswer::Failed(known);
    }
    if (dice_.Happens(fails_)) return RowAnswer::Failed(Unavailable("503"));
    RowAnswer answer;
    const auto content = std::make_shared<const SimRow>(content_(row.row));
    answer.spec = answer.sample.row = content->spec;
    if (row.ask == Ask::kBytes) {
      answer.sample.encoded = false;
      answer.sample.bytes = content->pixels;
      answer.hold = content;
      answer.bytes_read = content->pixels.size();
    } else if (row.ask != Ask::kSpec) {
      answer.status = Unsupported("not a file");
    }
    return answer;
  }

  EventQueue& events_;
  mutable Dice dice_;
  const std::shared_ptr<SimProcess> process_;
  const std::int64_t rows_;
  const SimRows content_;
  const double fails_;
  const Column label_{DType::kI64, {}, sizeof(std::int64_t)};
  mutable std::map<std::uint64_t, Row> open_;
  mutable std::uint64_t last_ = 0;
  bool stopped_ = false;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace

std::unique_ptr<dataworker::Source> MakeSimSource(EventQueue& events, Dice dice,
                                                  std::shared_ptr<SimProcess> process,
                                                  std::int64_t rows, SimRows content,
                                                  double fails) {
  return std::make_unique<SimSource>(events, dice, std::move(process), rows, std::move(content),
                                     fails);
}

}  // namespace headrace::simulation
