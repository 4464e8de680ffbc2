#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "base/tensor_spec.h"

namespace headrace::client {

// What workers have read of a data set's samples: the type and size of each. A row takes 8 bytes, which are touched
// only if the row was asked for. The sessions of a client that read the same rows share the table.
// Reactor thread.
class SizeTable {
 public:
  enum class State : std::uint8_t { kUnknown, kKnown, kNoNativeForm };

  explicit SizeTable(std::int64_t rows)
      : rows_(rows),
        words_(static_cast<std::uint64_t*>(
            std::calloc(static_cast<std::size_t>(rows > 0 ? rows : 1), sizeof(std::uint64_t)))) {
    if (!words_) throw std::bad_alloc();
  }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  // REQUIRES: 0 <= row < rows().
  [[nodiscard]] State state(std::int64_t row) const {
    const std::uint64_t word = words_.get()[row];
    if (word == 0) return State::kUnknown;
    return word == kNoNative ? State::kNoNativeForm : State::kKnown;
  }
  // REQUIRES: state(row) == kKnown.
  [[nodiscard]] TensorSpec spec(std::int64_t row) const {
    const std::uint64_t word = words_.get()[row];
    if (word >> kHeightBit == 0) return others_[word >> kOtherBits];
    return {
        DType::kU8,
        Layout::kHwc,
        {static_cast<std::int64_t>(word >> kHeightBit),
         static_cast<std::int64_t>(word >> 4 & kMaxSide), static_cast<std::int64_t>(word & 15)}};
  }
  // Sets the row's spec; absent: the row has no native form.
  void Set(std::int64_t row, const std::optional<TensorSpec>& spec) {
    words_.get()[row] = spec ? WordOf(*spec) : kNoNative;
  }
  // Forgets the row's spec, which has changed, so that it is asked for again.
  void Forget(std::int64_t row) { words_.get()[row] = 0; }

 private:
  struct FreeWords {
    void operator()(std::uint64_t* words) const { std::free(words); }
  };
  // A uint8 image is its height, width (30 bits each) and channels (4 bits). Words of height 0 are
  // the other states: unknown (0), kNoNative, or a place in others_.
  static constexpr int kHeightBit = 34, kOtherBits = 2;
  static constexpr std::int64_t kMaxSide = (std::int64_t{1} << 30) - 1;
  static constexpr std::uint64_t kNoNative = 1, kOther = 2;

  std::uint64_t WordOf(const TensorSpec& spec) {
    const Dims& dims = spec.dims;
    const auto fits = [](std::int64_t size, std::int64_t most) { return size > 0 && size <= most; };
    if (spec.dtype == DType::kU8 && spec.layout == Layout::kHwc && dims.rank() == 3 &&
        fits(dims[0], kMaxSide) && fits(dims[1], kMaxSide) && fits(dims[2], 15)) {
      return static_cast<std::uint64_t>(dims[0]) << kHeightBit |
             static_cast<std::uint64_t>(dims[1]) << 4 | static_cast<std::uint64_t>(dims[2]);
    }
    // Rows of one array have one spec.
    if (others_.empty() || others_.back() != spec) others_.push_back(spec);
    return (others_.size() - 1) << kOtherBits | kOther;
  }

  std::int64_t rows_;
  std::unique_ptr<std::uint64_t, FreeWords> words_;
  std::vector<TensorSpec> others_;
};

}  // namespace headrace::client
