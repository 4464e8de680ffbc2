#include "ops/image/affine_kernel.h"

#include "ops/image/affine.h"

namespace headrace::ops {

Status AffineKernel::Run(const Image& in, Params params, OpContext& /*context*/,
                         ScratchBuffer& memory, Image* out) const {
  HR_TRY(const AffineMatrix matrix, AffineSchema::Read(params));
  std::uint8_t* const pixels = memory.Ensure(in.spec.bytes());
  TransformAffine(in, matrix, pixels_.interpolation, pixels_.fill, pixels);
  out->data = pixels;
  out->pixel_stride = static_cast<std::size_t>(in.spec.channels);
  out->row_stride = out->pixel_stride * static_cast<std::size_t>(in.spec.width);
  return Status::Ok();
}

}  // namespace headrace::ops
