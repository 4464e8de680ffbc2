#include "ops/vision/geometry/affine_kernel.h"

#include "ops/vision/geometry/affine.h"
#include "ops/vision/tensor/float_ops.h"
#include "ops/vision/tensor/grid_sample.h"
#include "ops/vision/work.h"

namespace headrace::ops {

Status AffineKernel::Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
                         Image* out) const {
  HR_TRY(const AffineSchema::Motion motion, AffineSchema::Read(params, in.spec));
  const AffineArgs& affine = pixels_.affine;
  if (in.spec.dtype == DType::kF32) {
    const FloatPixels made = MakeFloats(in.spec, memory);
    made.Show(out);
    if (!motion.turns) return FloatAffine(in, motion.matrix, affine, pixels_.api, made);
    TensorTurn(in, *motion.turns, reinterpret_cast<std::uint8_t*>(made.floats.data()));
    return Status::Ok();
  }
  Work work(in, memory, context.scratch(0));
  if (affine.tensor) (void)work.Writable();  // packed
  work.Replace([&](std::uint8_t* pixels) {
    if (motion.turns) return TensorTurn(work.image(), *motion.turns, pixels);
    if (affine.tensor) {
      return TensorAffine(work.image(), motion.matrix, affine, pixels_.api, pixels);
    }
    TransformAffine(in, motion.matrix, affine.interpolation, affine.fill, pixels);
  });
  out->data = work.image().data;
  out->pixel_stride = work.image().pixel_stride;
  out->row_stride = work.image().row_stride;
  return Status::Ok();
}

}  // namespace headrace::ops
