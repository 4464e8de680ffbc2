#include "ops/core/byte_lookup_internal.h"
#include "ops/core/lookup_avx512.h"

#if defined(__x86_64__)

namespace headrace::ops {
namespace {

using namespace lookup;  // NOLINT(google-build-using-namespace)

template <int kBytes, bool kStream>
HR_LOOKUP_TARGET void LookUp(const std::uint8_t* values, std::int64_t count,
                             const std::uint8_t* table, std::uint8_t* out) {
  ByteTable parts[kBytes];
  for (int part = 0; part < kBytes; ++part) LoadPart<kBytes>(table, part, &parts[part]);
  for (std::int64_t i = 0; i < count; i += kStep) {
    const __m512i index = _mm512_maskz_loadu_epi8(FirstBytes(count - i), values + i);
    LookupStep<kBytes, kStream>(parts, Transpose(index), count - i, out + i * kBytes);
  }
}

}  // namespace

void LookUpBytesAvx512(ByteSpan values, ByteSpan table, std::size_t element, MutableByteSpan out) {
  const auto* from = reinterpret_cast<const std::uint8_t*>(values.data());
  const auto* elements = reinterpret_cast<const std::uint8_t*>(table.data());
  auto* to = reinterpret_cast<std::uint8_t*>(out.data());
  const auto count = static_cast<std::int64_t>(values.size());
  if (element == 1) return LookUp<1, false>(from, count, elements, to);
  if (element == 2) return LookUp<2, false>(from, count, elements, to);
  if (!IsStreamed(to, out.size(), 1)) return LookUp<4, false>(from, count, elements, to);
  LookUp<4, true>(from, count, elements, to);
  _mm_sfence();  // before others learn that the results are there
}

}  // namespace headrace::ops
#endif
