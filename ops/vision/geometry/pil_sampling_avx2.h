#pragma once

#include "ops/vision/geometry/pil_sampling.h"

namespace headrace::ops {

#if defined(__x86_64__)
// PilSamplers of three channels, for CPUs with AVX2. Only PilSamplerOf chooses them.
void PilBilinearAvx2(const PilSource& source, std::span<const PilPoint> points, const PilFill& fill,
                     std::uint8_t* out);
void PilBicubicAvx2(const PilSource& source, std::span<const PilPoint> points, const PilFill& fill,
                    std::uint8_t* out);
#endif

}  // namespace headrace::ops
