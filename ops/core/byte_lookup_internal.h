#pragma once

#include <cstddef>

#include "base/buffer.h"

namespace headrace::ops {

// LookUpBytes for elements of 1, 2 and 4 bytes. REQUIRES: the CPU has AVX-512 VBMI, BW and VL.
void LookUpBytesAvx512(ByteSpan values, ByteSpan table, std::size_t element, MutableByteSpan out);

}  // namespace headrace::ops
