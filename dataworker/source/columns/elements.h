#pragma once

#include <cstddef>
#include <string_view>

#include "base/buffer.h"
#include "base/graph.h"
#include "base/result.h"

namespace headrace::dataworker {

// What a file's elements are, and how they become a column's: as NumPy's astype makes them. A value;
// thread-safe.
class Elements {
 public:
  // `text`: as NumPy writes a type, "<u2" or ">f4"; empty: as the column has them. `made`: the type of
  // the column's elements. kUnsupported: a type or a conversion that is not known. Integers become
  // integers, which may lose their upper bits, and float32 and float64. All others only change the
  // order of their bytes.
  static Result<Elements> Make(std::string_view text, DType made);

  // Bytes of one element in the file.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // Whether a column's bytes are the file's.
  [[nodiscard]] bool same() const { return convert_ == nullptr; }
  // REQUIRES: `from` and `to` hold the same number of elements.
  void Convert(ByteSpan from, MutableByteSpan to) const;

 private:
  using Function = void (*)(const std::byte* from, std::byte* to, std::size_t count);
  Elements(std::size_t bytes, Function convert) : bytes_(bytes), convert_(convert) {}

  std::size_t bytes_;
  Function convert_;  // nullptr: the bytes are the same
};

}  // namespace headrace::dataworker
