// Rows of arrays that the trainer held in memory and shipped as blobs: TensorDataset, CIFAR, MNIST.
#include <optional>
#include <string>
#include <utility>

#include "dataworker/source/columns/memory_columns.h"
#include "dataworker/source/core/source.h"

namespace headrace::dataworker {
namespace {

class Arrays final : public Source {
 public:
  Arrays(std::int64_t rows, std::vector<MemoryColumn> parts, std::optional<TensorSpec> row)
      : rows_(rows), parts_(std::move(parts)), row_(std::move(row)) {}

  [[nodiscard]] std::int64_t rows() const override { return rows_; }
  [[nodiscard]] bool cacheable() const override { return false; }  // the blob is in memory already
  [[nodiscard]] bool rereads_from_memory() const override { return true; }

  [[nodiscard]] bool waits() const override { return false; }
  [[nodiscard]] std::optional<RowAnswer> Now(Ask ask, std::int64_t row,
                                             ScratchBuffer& /*buffer*/) const override {
    RowAnswer answer;
    answer.status = Answer(ask, row, answer);
    return answer;
  }
  void Fetch(Ask ask, std::span<const std::int64_t> rows, Sink sink) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      RowAnswer answer;
      answer.status = Answer(ask, rows[i], answer);
      sink(i, std::move(answer));
    }
  }
  [[nodiscard]] const Column* column(std::int32_t index) const override {
    if (index < 0 || static_cast<std::size_t>(index) >= parts_.size()) return nullptr;
    return &parts_[static_cast<std::size_t>(index)].column;
  }
  Status CopyColumn(std::int32_t index, std::int64_t row, MutableByteSpan out) const override {
    HR_RETURN_IF_ERROR(CheckRow(row, rows_));
    parts_[static_cast<std::size_t>(index)].Copy(row, out);
    return {};
  }

 private:
  Status Answer(Ask ask, std::int64_t row, RowAnswer& answer) const {
    HR_RETURN_IF_ERROR(CheckRow(row, rows_));
    if (ask == Ask::kWitness || ask == Ask::kWholeWitness) return Unsupported("not a file");
    if (ask == Ask::kIdentity) return {};
    if (!row_) return Unsupported("rows of array 0 have too many dimensions");
    answer.spec = *row_;
    if (ask == Ask::kBytes) {
      answer.sample = {.bytes = parts_[0].Row(row), .encoded = false, .row = *row_, .content = {}};
    }
    return {};
  }

  const std::int64_t rows_;
  const std::vector<MemoryColumn> parts_;
  const std::optional<TensorSpec> row_;
};

Result<std::unique_ptr<Source>> MakeArrays(const SourceLeaf& leaf,
                                           const SourceRegistry::Environment& environment) {
  HR_RETURN_IF_ERROR(CheckNoArgs(leaf));
  if (leaf.arrays.empty() || leaf.rows < 0) return InvalidArgument("a source without arrays");
  std::vector<MemoryColumn> parts;
  for (std::size_t i = 0; i < leaf.arrays.size(); ++i) {
    HR_TRY(MemoryColumn part, OpenMemoryColumn(leaf.arrays[i], leaf.rows, environment.blob,
                                               "array " + std::to_string(i)));
    parts.push_back(std::move(part));
  }
  return std::unique_ptr<Source>(
      std::make_unique<Arrays>(leaf.rows, std::move(parts), RowsOf(leaf.arrays[0])));
}

}  // namespace

void RegisterSourceArrays(SourceRegistry& registry) { registry.Add("arrays", MakeArrays); }

}  // namespace headrace::dataworker
