#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/buffer.h"
#include "base/ids.h"
#include "base/result.h"
#include "flatbuffers/flatbuffers.h"

namespace headrace::wire {

// Copies values out of a verified FlatBuffers body and keeps the first error. Conversions read
// straight on, and the caller asks status() once, at the end. A hostile body can point at one
// string a million times. So every copied byte is charged against the body's own size, which an
// honest sender never exceeds.
class Reader {
 public:
  explicit Reader(std::size_t body_bytes) : budget_(body_bytes) {}

  [[nodiscard]] Status status() const;
  // Keeps only the first complaint. `what` names the field.
  void Fail(std::string_view what);
  void Require(bool condition, std::string_view what) {
    if (!condition) [[unlikely]]
      Fail(what);
  }

  [[nodiscard]] std::string Text(const flatbuffers::String* text);
  [[nodiscard]] std::vector<std::string> Texts(
      const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts);
  [[nodiscard]] Bytes Raw(const flatbuffers::Vector<std::uint8_t>* raw);

  // Copies bytes, since the verifier lets a vector of 8-byte elements begin at any multiple of 4.
  template <typename T>
  [[nodiscard]] std::vector<T> Scalars(const flatbuffers::Vector<T>* items) {
    std::vector<T> out;
    if (items == nullptr || !Charge(items->size() * sizeof(T))) return out;
    out.resize(items->size());
    if (!out.empty()) std::memcpy(out.data(), items->Data(), out.size() * sizeof(T));
    return out;
  }

  // -1 is "none"; anything less is invalid.
  template <typename Id>
  [[nodiscard]] Id ReadId(std::int64_t value, std::string_view what) {
    Require(value >= -1, what);
    return Id(value);
  }
  template <typename Id>
  [[nodiscard]] std::vector<Id> Ids(const flatbuffers::Vector<std::int64_t>* items,
                                    std::string_view what) {
    const std::vector<std::int64_t> values = Scalars(items);
    std::vector<Id> out;
    out.reserve(values.size());
    for (const std::int64_t value : values) out.push_back(ReadId<Id>(value, what));
    return out;
  }
  template <typename T>
  [[nodiscard]] T NotNegative(T value, std::string_view what) {
    Require(value >= 0, what);
    if constexpr (std::is_floating_point_v<T>) Require(std::isfinite(value), what);
    return value;
  }
  // Converts an enum. This build knows the values 0..last.
  template <typename To, typename From>
  [[nodiscard]] To Enum(From value, From last, std::string_view what) {
    Require(value <= last, what);
    return static_cast<To>(value);
  }

 private:
  [[nodiscard]] bool Charge(std::size_t bytes);

  std::size_t budget_;
  bool failed_ = false;
  std::string complaint_;
};

}  // namespace headrace::wire
