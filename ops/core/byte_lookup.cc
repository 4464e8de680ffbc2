#include "ops/core/byte_lookup.h"

#include "base/check.h"
#include "ops/core/byte_lookup_internal.h"

namespace headrace::ops {
namespace {

template <typename T>
void LookUpPortable(ByteSpan values, ByteSpan table, MutableByteSpan out) {
  const T* elements = reinterpret_cast<const T*>(table.data());
  T* to = reinterpret_cast<T*>(out.data());
  for (const std::byte value : values) *to++ = elements[static_cast<std::size_t>(value)];
}

}  // namespace

LookupLevel DetectLookupLevel() {
#if defined(__x86_64__)
  static const bool fast = __builtin_cpu_supports("avx512vbmi") &&
                           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (fast) return LookupLevel::kAvx512Vbmi;
#endif
  return LookupLevel::kScalar;
}

void LookUpBytes(ByteSpan values, ByteSpan table, std::size_t element, MutableByteSpan out,
                 LookupLevel level) {
  HR_CHECK(table.size() == kByteValues * element && out.size() == values.size() * element);
#if defined(__x86_64__)
  if (level == LookupLevel::kAvx512Vbmi && element < 8) {
    LookUpBytesAvx512(values, table, element, out);
    return;
  }
#endif
  // Moves integers of 4 and 8 bytes as the floats of their size.
  switch (element) {
    case 1:
      return LookUpPortable<std::uint8_t>(values, table, out);
    case 2:
      return LookUpPortable<std::uint16_t>(values, table, out);
    case 4:
      return LookUpPortable<float>(values, table, out);
    default:
      return LookUpPortable<double>(values, table, out);
  }
}

}  // namespace headrace::ops
