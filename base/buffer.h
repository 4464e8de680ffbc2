#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

using ByteSpan = std::span<const std::byte>;
using MutableByteSpan = std::span<std::byte>;
using Bytes = std::vector<std::byte>;

[[nodiscard]] inline ByteSpan AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
template <typename T>
[[nodiscard]] ByteSpan AsBytes(std::span<const T> items) {
  return std::as_bytes(items);
}
[[nodiscard]] inline std::string_view AsText(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
[[nodiscard]] inline Bytes CopyBytes(ByteSpan bytes) { return {bytes.begin(), bytes.end()}; }

// Uninitialised, 64-byte aligned memory that only grows; kernels may read kSlack bytes past size().
// Thread-compatible; owned by one executor thread's scratch.
class ScratchBuffer {
 public:
  static constexpr std::size_t kSlack = 64;
  // Contents are lost when it grows.
  [[nodiscard]] std::uint8_t* Ensure(std::size_t bytes) {
    if (bytes > capacity_) {
      const std::size_t rounded = (bytes + kSlack + 4095) / 4096 * 4096;
      data_.reset(static_cast<std::uint8_t*>(std::aligned_alloc(64, rounded)));
      if (!data_) std::abort();  // bad_alloc ends the process (docs/adr/0003-errors.md)
      capacity_ = rounded - kSlack;
    }
    return data_.get();
  }
  [[nodiscard]] std::uint8_t* data() { return data_.get(); }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

 private:
  struct Free {
    void operator()(std::uint8_t* p) const { std::free(p); }
  };
  std::unique_ptr<std::uint8_t, Free> data_;
  std::size_t capacity_ = 0;
};

}  // namespace headrace
