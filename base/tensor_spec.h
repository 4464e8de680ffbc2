#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "base/check.h"
#include "base/graph.h"

// The type and shape of one tensor: a sample on its way through a plan, or a field of a batch.
namespace headrace {

// The meaning of a tensor's dimensions. Values are wire values: append only.
enum class Layout : std::uint8_t {
  kPlain = 0,  // nothing is known of them
  kHwc = 1,    // an image: rows, columns, channels
  kChw = 2,    // an image: channels, rows, columns
};

// The sizes of a tensor's dimensions, outermost first. A small value: no allocation.
class Dims {
 public:
  static constexpr std::size_t kMost = 5;
  static constexpr std::int64_t kAny = -1;  // the size differs between samples

  Dims() = default;
  Dims(std::initializer_list<std::int64_t> sizes) : Dims(std::span(sizes.begin(), sizes.size())) {}
  // REQUIRES: at most kMost sizes.
  explicit Dims(std::span<const std::int64_t> sizes) : rank_(sizes.size()) {
    HR_CHECK(rank_ <= kMost);
    std::copy(sizes.begin(), sizes.end(), sizes_.begin());
  }

  [[nodiscard]] std::size_t rank() const { return rank_; }
  [[nodiscard]] std::int64_t operator[](std::size_t i) const { return sizes_[i]; }
  [[nodiscard]] const std::int64_t* begin() const { return sizes_.data(); }
  [[nodiscard]] const std::int64_t* end() const { return sizes_.data() + rank_; }
  friend bool operator==(const Dims&, const Dims&) = default;

 private:
  std::size_t rank_ = 0;
  std::array<std::int64_t, kMost> sizes_{};  // 0 past the rank
};

struct TensorSpec {
  DType dtype = DType::kU8;
  Layout layout = Layout::kPlain;
  Dims dims;  // rank 0: a scalar

  // True if every size is a number.
  [[nodiscard]] bool known() const {
    return std::none_of(dims.begin(), dims.end(), [](std::int64_t size) { return size < 0; });
  }
  // Bytes of the dense tensor. REQUIRES: known(), and that the product fits.
  [[nodiscard]] std::size_t bytes() const {
    std::size_t elements = 1;
    for (const std::int64_t size : dims) elements *= static_cast<std::size_t>(size);
    return elements * DTypeBytes(dtype);
  }
  // "uint8[375, 500, 3]"; "?" stands for any size.
  [[nodiscard]] std::string ToString() const;
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

// torch's name of an element type, as "float32"; "?" for a type of a newer peer.
[[nodiscard]] std::string_view DTypeName(DType type);

}  // namespace headrace
