#include "dataworker/source/columns/elements.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/check.h"
#include "base/tensor_spec.h"

namespace headrace::dataworker {
namespace {

static_assert(std::endian::native == std::endian::little,
              "NumPy's '<' is taken for this machine's");

using ElementFunction = void (*)(const std::byte*, std::byte*, std::size_t);

template <typename In, typename Out, bool kSwap>
void ConvertAll(const std::byte* from, std::byte* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::byte bytes[sizeof(In)];
    std::memcpy(bytes, from + i * sizeof(In), sizeof(In));
    if constexpr (kSwap) std::reverse(bytes, bytes + sizeof(In));
    const Out made = static_cast<Out>(std::bit_cast<In>(bytes));  // of integers: modulo 2^n
    std::memcpy(to + i * sizeof(Out), &made, sizeof(Out));
  }
}

template <typename In, bool kSwap>
ElementFunction FromIntegers(DType made) {
  switch (made) {
    case DType::kU8:
      return &ConvertAll<In, std::uint8_t, kSwap>;
    case DType::kI8:
      return &ConvertAll<In, std::int8_t, kSwap>;
    case DType::kI16:
      return &ConvertAll<In, std::int16_t, kSwap>;
    case DType::kI32:
      return &ConvertAll<In, std::int32_t, kSwap>;
    case DType::kI64:
      return &ConvertAll<In, std::int64_t, kSwap>;
    case DType::kF32:
      return &ConvertAll<In, float, kSwap>;
    case DType::kF64:
      return &ConvertAll<In, double, kSwap>;
    case DType::kF16:
    case DType::kBool:
    case DType::kBF16:
      return nullptr;
  }
  return nullptr;
}

template <typename In>
ElementFunction FromIntegers(DType made, bool swaps) {
  return swaps ? FromIntegers<In, true>(made) : FromIntegers<In, false>(made);
}

// nullptr: there is no such conversion. `type`: NumPy's, without the order of bytes.
ElementFunction ConversionOf(std::string_view type, bool swaps, DType made) {
  if (type == "u1") return FromIntegers<std::uint8_t>(made, swaps);
  if (type == "u2") return FromIntegers<std::uint16_t>(made, swaps);
  if (type == "u4") return FromIntegers<std::uint32_t>(made, swaps);
  if (type == "u8") return FromIntegers<std::uint64_t>(made, swaps);
  if (type == "i1") return FromIntegers<std::int8_t>(made, swaps);
  if (type == "i2") return FromIntegers<std::int16_t>(made, swaps);
  if (type == "i4") return FromIntegers<std::int32_t>(made, swaps);
  if (type == "i8") return FromIntegers<std::int64_t>(made, swaps);
  // Their bits, whatever they mean: a signalling NaN stays one.
  if (type == "f2" && made == DType::kF16) return FromIntegers<std::uint16_t>(DType::kI16, swaps);
  if (type == "f4" && made == DType::kF32) return FromIntegers<std::uint32_t>(DType::kI32, swaps);
  if (type == "f8" && made == DType::kF64) return FromIntegers<std::uint64_t>(DType::kI64, swaps);
  return nullptr;
}

// What a column's elements are in a file that has them as they are; empty: NumPy has no such type.
std::string_view OwnType(DType made) {
  switch (made) {
    case DType::kU8:
      return "u1";
    case DType::kI8:
      return "i1";
    case DType::kI16:
      return "i2";
    case DType::kI32:
      return "i4";
    case DType::kI64:
      return "i8";
    case DType::kF16:
      return "f2";
    case DType::kF32:
      return "f4";
    case DType::kF64:
      return "f8";
    case DType::kBool:
      return "b1";
    case DType::kBF16:
      return "";
  }
  return "";
}

}  // namespace

Result<Elements> Elements::Make(std::string_view text, DType made) {
  if (DTypeBytes(made) == 0) return InvalidArgument("elements of an unknown type");
  if (text.empty()) return Elements(DTypeBytes(made), nullptr);
  const char order = text.front();
  const std::string_view type = text.substr(1);
  const bool known_order = order == '<' || order == '>' || order == '|';
  if (known_order && order != '>' && type == OwnType(made)) {
    return Elements(DTypeBytes(made), nullptr);
  }
  const ElementFunction convert = known_order ? ConversionOf(type, order == '>', made) : nullptr;
  if (convert == nullptr) {
    return Unsupported("elements '" + std::string(text) + "' as " + std::string(DTypeName(made)));
  }
  return Elements(static_cast<std::size_t>(type[1] - '0'), convert);
}

void Elements::Convert(ByteSpan from, MutableByteSpan to) const {
  if (from.empty()) return;
  if (convert_ == nullptr) {
    HR_CHECK(from.size() == to.size());
    std::memcpy(to.data(), from.data(), from.size());
    return;
  }
  convert_(from.data(), to.data(), from.size() / bytes_);
}

}  // namespace headrace::dataworker
