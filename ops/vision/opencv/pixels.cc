#include "ops/vision/opencv/pixels.h"

namespace headrace::images {

bool HasKernels() {
  static const bool kHas = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return kHas;
}

}  // namespace headrace::images
