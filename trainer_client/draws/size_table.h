#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "ops/core/op.h"

namespace headrace::client {

// The sizes of a data set's images that workers have read. A row takes 8 bytes, which are touched
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
  [[nodiscard]] ops::ImageSpec spec(std::int64_t row) const {
    const std::uint64_t word = words_.get()[row];
    ops::ImageSpec spec;
    spec.height = static_cast<std::int64_t>(word >> 34);
    spec.width = static_cast<std::int64_t>(word >> 4 & kMaxSide);
    spec.channels = static_cast<std::int32_t>(word & 15);
    return spec;
  }
  // Sets the row's size. A size that no image can have means: no native form.
  void Set(std::int64_t row, std::int64_t height, std::int64_t width, std::int32_t channels) {
    const bool valid = height > 0 && height <= kMaxSide && width > 0 && width <= kMaxSide &&
                       channels > 0 && channels < 16;
    words_.get()[row] = valid ? static_cast<std::uint64_t>(height) << 34 |
                                    static_cast<std::uint64_t>(width) << 4 |
                                    static_cast<std::uint64_t>(channels)
                              : kNoNative;
  }
  // Forgets the row's size, which has changed, so that it is asked for again.
  void Forget(std::int64_t row) { words_.get()[row] = 0; }

 private:
  struct FreeWords {
    void operator()(std::uint64_t* words) const { std::free(words); }
  };
  static constexpr std::int64_t kMaxSide = (std::int64_t{1} << 30) - 1;
  static constexpr std::uint64_t kNoNative = 1;  // no known size has height 0

  std::int64_t rows_;
  std::unique_ptr<std::uint64_t, FreeWords> words_;
};

}  // namespace headrace::client
