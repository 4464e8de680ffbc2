#include "ops/timm_augment/timm_augment.h"

#include "base/check.h"
#include "ops/core/op_registry.h"
#include "ops/vision/geometry/affine.h"
#include "ops/vision/image_kernel.h"
#include "ops/vision/pil/enhance.h"
#include "ops/vision/pil/image_ops.h"
#include "ops/vision/pil/sharpness.h"
#include "ops/vision/work.h"

namespace headrace::ops {
namespace {

class TimmAugmentKernel final : public ImageKernel {
 public:
  explicit TimmAugmentKernel(const TimmAugmentSchema& schema) : fill_(schema.config().fill) {}

  Status Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    HR_CHECK(params.size() % TimmStep::kWords == 0);
    Work work(in, memory, context.scratch(0));
    for (; !params.empty(); params = params.subspan(TimmStep::kWords)) {
      HR_TRY(const TimmStep step, TimmStep::Read(params.first(TimmStep::kWords)));
      if (step.happens) HR_RETURN_IF_ERROR(Apply(step, work));
    }
    out->data = work.image().data;
    out->row_stride = work.image().row_stride;
    out->pixel_stride = work.image().pixel_stride;
    return Status::Ok();
  }

 private:
  Status Apply(const TimmStep& step, Work& work) const;

  std::array<std::uint8_t, 3> fill_;
};

Status TimmAugmentKernel::Apply(const TimmStep& step, Work& work) const {
  const auto factor = static_cast<float>(step.value);
  if (step.moves()) {
    work.Replace([&](std::uint8_t* pixels) {
      TransformAffine(work.image(), step.MatrixFor(work.image().spec), step.way, fill_, pixels);
    });
    return Status::Ok();
  }
  switch (step.op) {
    case TimmOp::kAutoContrast:
      AutoContrast(work.Writable());
      break;
    case TimmOp::kEqualize:
      Equalize(work.Writable());
      break;
    case TimmOp::kInvert:
      Invert(work.Writable());
      break;
    case TimmOp::kPosterize:
    case TimmOp::kPosterizeIncreasing:
    case TimmOp::kPosterizeOriginal:
      if (step.value < 0 || step.value > 8) return InvalidArgument("bits are not in 0..8");
      Posterize(work.Writable(), static_cast<int>(step.value));
      break;
    case TimmOp::kSolarize:
    case TimmOp::kSolarizeIncreasing:
      Solarize(work.Writable(), step.value);
      break;
    case TimmOp::kSolarizeAdd:
      if (step.value < 0 || step.value > 255) return InvalidArgument("a value out of range");
      SolarizeAdd(work.Writable(), static_cast<int>(step.value));
      break;
    case TimmOp::kColor:
    case TimmOp::kColorIncreasing:
      AdjustSaturation(work.Writable(), factor);
      break;
    case TimmOp::kContrast:
    case TimmOp::kContrastIncreasing:
      AdjustContrast(work.Writable(), factor);
      break;
    case TimmOp::kBrightness:
    case TimmOp::kBrightnessIncreasing:
      AdjustBrightness(work.Writable(), factor);
      break;
    case TimmOp::kSharpness:
    case TimmOp::kSharpnessIncreasing:
      work.Replace([&](std::uint8_t* pixels) { AdjustSharpness(work.image(), factor, pixels); });
      break;
    default:
      return InvalidArgument("an operation that moves pixels");
  }
  return Status::Ok();
}

}  // namespace

void RegisterKernelTimmAugment(KernelRegistry& registry) {
  registry.Add<TimmAugmentKernel, TimmAugmentSchema>("timm_augment");
}

}  // namespace headrace::ops
