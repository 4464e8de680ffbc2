#include "ops/vision/floats.h"

namespace headrace::ops {

Status NeedsBytesOrFloats(const CompileContext& context) {
  if (context.input.dtype == DType::kU8 || context.input.dtype == DType::kF32) return {};
  return Unsupported("has a native form for PIL images and tensors of uint8 or float32 only");
}

}  // namespace headrace::ops
