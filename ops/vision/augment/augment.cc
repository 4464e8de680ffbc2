#include "ops/vision/augment/augment.h"

#include "base/check.h"
#include "ops/vision/geometry/affine.h"
#include "ops/vision/pil/enhance.h"
#include "ops/vision/pil/image_ops.h"
#include "ops/vision/pil/sharpness.h"
#include "ops/vision/tensor/grid_sample.h"
#include "ops/vision/tensor/tensor_ops.h"

namespace headrace::ops {
namespace {

void ApplyToPil(const Augmentation& step, const AugmentSpace& space, Work& work) {
  const AffineArgs& affine = space.affine();
  const auto factor = static_cast<float>(step.factor);
  switch (step.op) {
    case AugmentOp::kIdentity:
      return;
    case AugmentOp::kShearX:
    case AugmentOp::kShearY:
    case AugmentOp::kTranslateX:
    case AugmentOp::kTranslateY:
    case AugmentOp::kRotate:
      if (step.matrix == kUnmoved) return;
      return work.Replace([&](std::uint8_t* pixels) {
        TransformAffine(work.image(), step.matrix, affine.interpolation, affine.fill, pixels);
      });
    case AugmentOp::kBrightness:
      return AdjustBrightness(work.Writable(), factor);
    case AugmentOp::kColor:
      return AdjustSaturation(work.Writable(), factor);
    case AugmentOp::kContrast:
      return AdjustContrast(work.Writable(), factor);
    case AugmentOp::kSharpness:
      return work.Replace(
          [&](std::uint8_t* pixels) { AdjustSharpness(work.image(), factor, pixels); });
    case AugmentOp::kPosterize:
      return Posterize(work.Writable(), step.bits);
    case AugmentOp::kSolarize:
      return Solarize(work.Writable(), step.threshold);
    case AugmentOp::kAutoContrast:
      return AutoContrast(work.Writable());
    case AugmentOp::kEqualize:
      return Equalize(work.Writable());
    case AugmentOp::kInvert:
      return Invert(work.Writable());
  }
}

void ChangeTensor(const Augmentation& step, const AugmentSpace& space, Work& work) {
  const AffineArgs& affine = space.affine();
  const int api = space.api();
  switch (step.op) {
    case AugmentOp::kIdentity:
    case AugmentOp::kContrast:  // ApplyToTensor
      return;
    case AugmentOp::kShearX:
    case AugmentOp::kShearY:
    case AugmentOp::kTranslateX:
    case AugmentOp::kTranslateY:
    case AugmentOp::kRotate:
      if (step.turns == 0) return;
      return work.Replace([&](std::uint8_t* pixels) {
        if (step.turns) return TensorTurn(work.image(), *step.turns, pixels);
        TensorAffine(work.image(), step.matrix, affine, api, pixels);
      });
    case AugmentOp::kBrightness:
      return TensorBrightness(work.Writable(), step.factor);
    case AugmentOp::kColor:
      return TensorSaturation(work.Writable(), step.factor, api);
    case AugmentOp::kSharpness:
      return work.Replace(
          [&](std::uint8_t* pixels) { TensorSharpness(work.image(), step.factor, api, pixels); });
    case AugmentOp::kPosterize:
      return Posterize(work.Writable(), step.bits);
    case AugmentOp::kSolarize:
      return TensorSolarize(work.Writable(), step.threshold);
    case AugmentOp::kAutoContrast:
      return TensorAutoContrast(work.Writable(), api);
    case AugmentOp::kEqualize:
      return Equalize(work.Writable());
    case AugmentOp::kInvert:
      return Invert(work.Writable());
  }
}

}  // namespace

Status ApplyToTensor(const Augmentation& step, const AugmentSpace& space, Work& work) {
  if (step.op == AugmentOp::kContrast) {
    return TensorContrast(work.Writable(), step.factor, space.api());
  }
  ChangeTensor(step, space, work);
  return {};
}

Status AugmentKernel::Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
                          Image* out) const {
  HR_CHECK(params.size() % AugmentSpace::kWords == 0);
  Work work(in, memory, context.scratch(0));
  const bool tensor = space_.affine().tensor;
  for (; !params.empty(); params = params.subspan(AugmentSpace::kWords)) {
    HR_TRY(const Augmentation step, space_.Read(params.first(AugmentSpace::kWords), in.spec));
    if (!tensor) {
      ApplyToPil(step, space_, work);
    } else if (step.op != AugmentOp::kIdentity) {
      (void)work.Writable();  // packed
      HR_RETURN_IF_ERROR(ApplyToTensor(step, space_, work));
    }
  }
  out->data = work.image().data;
  out->row_stride = work.image().row_stride;
  out->pixel_stride = work.image().pixel_stride;
  return Status::Ok();
}

}  // namespace headrace::ops
