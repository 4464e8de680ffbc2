#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/tensor_spec.h"
#include "dataworker/source/core/source.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// The values of a batch's samples, each as CompiledPlan::Shapes::values: one for all of them, or one
// for each position. Those of a sample whose shapes are not known are empty.
class BatchValues {
 public:
  BatchValues() = default;  // of a plan without values
  explicit BatchValues(std::vector<TensorSpec> of_all) : of_({std::move(of_all)}) {}
  explicit BatchValues(std::vector<std::vector<TensorSpec>> of_each) : of_(std::move(of_each)) {}
  [[nodiscard]] std::span<const TensorSpec> At(std::size_t position) const {
    if (of_.empty()) return {};
    return of_.size() == 1 ? of_[0] : of_[position];
  }
  // Those of the first sample whose shapes are known; empty: there is none.
  [[nodiscard]] std::span<const TensorSpec> first() const;
  [[nodiscard]] std::span<const std::vector<TensorSpec>> all() const { return of_; }

 private:
  std::vector<std::vector<TensorSpec>> of_;
};

// Where the fields of a batch lie in its slot, and each sample's row of them.
class BatchLayout {
 public:
  struct Field {
    std::int32_t value = -1;  // which of the values; -1: it is a column of the source
    bool list = false;        // of a value: each sample has its own shape
    const Source::Column* column = nullptr;
  };
  struct Row {
    std::uint64_t offset = 0;  // from the slot's start, bytes
    std::size_t bytes = 0;
  };

  BatchLayout() = default;
  // `before_tail`: the values are the uint8 elements that the tail takes. kUnsupported: samples that
  // are stacked differ, or the batch is too large for any memory. REQUIRES: values.first() has the
  // values of the fields.
  static Result<BatchLayout> Make(std::span<const Field> fields, std::size_t batch,
                                  BatchValues values, bool before_tail);

  [[nodiscard]] const BatchValues& values() const { return values_; }
  [[nodiscard]] const std::vector<wire::FieldLayout>& fields() const { return fields_; }
  // A row of a list whose shape is not known has no byte.
  [[nodiscard]] Row At(std::size_t field, std::size_t position) const;
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  Status Place(const Field& field, std::size_t batch, bool before_tail);
  void PlaceList(const Field& field, std::size_t batch, wire::FieldLayout& placed) const;
  Status PlaceStack(const Field& field, wire::FieldLayout& placed) const;

  BatchValues values_;
  std::vector<wire::FieldLayout> fields_;
  std::vector<std::vector<Row>> rows_;  // of each field; one of a stack: the first
  std::uint64_t bytes_ = 0;
};

}  // namespace headrace::dataworker
