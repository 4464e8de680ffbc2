// Rows of arrays that the trainer held in memory and shipped as blobs: TensorDataset, CIFAR, MNIST.
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "dataworker/source/core/source.h"

namespace headrace::dataworker {
namespace {

// Elements of one row; nullopt when the product is negative or does not fit.
std::optional<std::size_t> RowBytes(const SourceLeaf::Array& array) {
  std::size_t bytes = DTypeBytes(array.dtype);
  if (bytes == 0) return std::nullopt;
  for (const std::int64_t extent : array.row_shape) {
    if (extent < 0) return std::nullopt;
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

// The rows of an array; nullopt: they have more dimensions than a sample may have.
std::optional<TensorSpec> RowsOf(const SourceLeaf::Array& array) {
  if (array.row_shape.size() > Dims::kMost) return std::nullopt;
  return TensorSpec{array.dtype, Layout::kPlain, Dims(std::span(array.row_shape))};
}

class Arrays final : public Source {
 public:
  struct Part {
    BlobContent content;
    Column column;
  };
  Arrays(std::int64_t rows, std::vector<Part> parts, std::optional<TensorSpec> row)
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
    const ByteSpan bytes = RowOf(parts_[static_cast<std::size_t>(index)], row);
    if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
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
      answer.sample = {
          .bytes = RowOf(parts_[0], row), .encoded = false, .row = *row_, .content = {}};
    }
    return {};
  }
  [[nodiscard]] static ByteSpan RowOf(const Part& part, std::int64_t row) {
    const std::size_t bytes = part.column.row_bytes;
    return part.content->subspan(static_cast<std::size_t>(row) * bytes, bytes);
  }

  const std::int64_t rows_;
  const std::vector<Part> parts_;
  const std::optional<TensorSpec> row_;
};

Result<std::unique_ptr<Source>> MakeArrays(const SourceLeaf& leaf,
                                           const SourceRegistry::Environment& environment) {
  HR_RETURN_IF_ERROR(CheckNoArgs(leaf));
  if (leaf.arrays.empty() || leaf.rows < 0) return InvalidArgument("a source without arrays");
  std::vector<Arrays::Part> parts;
  for (std::size_t i = 0; i < leaf.arrays.size(); ++i) {
    const SourceLeaf::Array& array = leaf.arrays[i];
    const std::string name = "array " + std::to_string(i);
    const std::optional<std::size_t> row_bytes = RowBytes(array);
    if (!row_bytes) return InvalidArgument(name + " has an impossible shape or element type");
    BlobContent content = environment.blob(array.blob);
    if (!content) return NotFound("the content of " + name + " is missing");
    std::size_t wanted = 0;
    if (__builtin_mul_overflow(*row_bytes, static_cast<std::size_t>(leaf.rows), &wanted) ||
        wanted != content->size()) {
      return InvalidArgument(name + " has " + std::to_string(content->size()) + " bytes, not " +
                             std::to_string(leaf.rows) + " rows of " + std::to_string(*row_bytes));
    }
    parts.push_back(
        {std::move(content),
         {.dtype = array.dtype, .row_shape = array.row_shape, .row_bytes = *row_bytes}});
  }
  return std::unique_ptr<Source>(
      std::make_unique<Arrays>(leaf.rows, std::move(parts), RowsOf(leaf.arrays[0])));
}

}  // namespace

void RegisterSourceArrays(SourceRegistry& registry) { registry.Add("arrays", MakeArrays); }

}  // namespace headrace::dataworker
