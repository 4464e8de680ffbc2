#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "dataworker/source/core/source.h"
#include "dataworker/source/files/direct_reads.h"
#include "dataworker/source/files/sample_file.h"

namespace headrace::dataworker {

// A source of local files: decides on which thread they are read. What is in the page cache is read on
// the caller's thread; anything else on an io thread, where the read may wait (DirectReads). An
// identity is never valid for longer than its use: nobody tells us when a file changes.
class BlockingSource : public Source {
 public:
  // REQUIRES: environment.io.
  explicit BlockingSource(const SourceRegistry::Environment& environment);

  [[nodiscard]] bool cacheable() const override { return true; }
  [[nodiscard]] bool rereads_from_memory() const override { return true; }
  [[nodiscard]] bool waits() const override { return !direct_.direct(); }
  [[nodiscard]] std::optional<RowAnswer> Now(Ask ask, std::int64_t row,
                                             ScratchBuffer& buffer) const override;
  void Fetch(Ask ask, std::span<const std::int64_t> rows, Sink sink) const override;
  void Stop() override { stopped_ = true; }
  // Column 1 is the label.
  [[nodiscard]] const Column* column(std::int32_t index) const override {
    return index == 1 ? &label_ : nullptr;
  }
  Status CopyColumn(std::int32_t index, std::int64_t row, MutableByteSpan out) const override;

 protected:
  // Answers as far as `pace` lets it. REQUIRES: `row` is one.
  [[nodiscard]] virtual RowAnswer Answer(Ask ask, std::int64_t row, ScratchBuffer& buffer,
                                         Pace& pace) const = 0;
  // REQUIRES: `row` is one.
  [[nodiscard]] virtual std::int64_t LabelOf(std::int64_t row) const = 0;
  // Places of `rows` that one task of an io thread answers, one after the other: each in one task.
  // Some of the rows may be none.
  [[nodiscard]] virtual std::vector<std::vector<std::size_t>> Tasks(
      Ask ask, std::span<const std::int64_t> rows) const;
  // Such a task begins with these rows. May wait.
  virtual void Expect(Ask /*ask*/, std::span<const std::int64_t> /*rows*/) const {}

 private:
  // Answers on an io thread, for as long as it takes.
  [[nodiscard]] RowAnswer Wait(Ask ask, std::int64_t row) const;

  IoExecutor& io_;
  mutable DirectReads direct_;
  std::atomic<bool> stopped_ = false;
  const Column label_{.dtype = DType::kI64, .row_shape = {}, .row_bytes = sizeof(std::int64_t)};
};

}  // namespace headrace::dataworker
