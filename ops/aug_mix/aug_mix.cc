#include "ops/aug_mix/aug_mix.h"

#include <algorithm>
#include <bit>
#include <span>

#include "base/check.h"
#include "ops/core/op_registry.h"
#include "ops/vision/augment/augment.h"
#include "ops/vision/image_kernel.h"
#include "ops/vision/work.h"

namespace headrace::ops {
namespace {

constexpr int kOriginalSlot = 0;
constexpr int kSumSlot = 1;
constexpr int kBranchSlot = 2;
constexpr int kSpareSlot = 3;

class AugMixKernel final : public ImageKernel {
 public:
  explicit AugMixKernel(const AugMixSchema& schema)
      : space_(schema.space()), branch_words_(schema.branch_words()) {}

  Status Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    const std::size_t values = in.spec.bytes();
    const Image original = Packed(in, context.scratch(kOriginalSlot));
    auto* const sums =
        reinterpret_cast<float*>(context.scratch(kSumSlot).Ensure(values * sizeof(float)));
    HR_TRY(const float own, Weight(params[0]));
    for (std::size_t i = 0; i < values; ++i) {
      sums[i] = own * static_cast<float>(original.data[i]);
    }
    for (Params rest = params.subspan(1); !rest.empty(); rest = rest.subspan(branch_words_)) {
      const Params branch = rest.first(branch_words_);
      HR_TRY(const float weight, Weight(branch[0]));
      Work work(original, context.scratch(kBranchSlot), context.scratch(kSpareSlot));
      for (Params steps = branch.subspan(1); !steps.empty();
           steps = steps.subspan(AugmentSpace::kWords)) {
        HR_TRY(const Augmentation step, space_.Read(steps.first(AugmentSpace::kWords), in.spec));
        HR_RETURN_IF_ERROR(ApplyToTensor(step, space_, work));
      }
      const std::uint8_t* const made = work.image().data;
      for (std::size_t i = 0; i < values; ++i) sums[i] += weight * static_cast<float>(made[i]);
    }
    std::uint8_t* const pixels = memory.Ensure(values);
    // The weights add up to 1 except for rounding, and never to 256 / 255. Those that nobody has drawn
    // may be any.
    for (std::size_t i = 0; i < values; ++i) {
      pixels[i] = static_cast<std::uint8_t>(std::max(0.0F, std::min(255.0F, sums[i])));
    }
    out->data = pixels;
    out->pixel_stride = original.pixel_stride;
    out->row_stride = original.row_stride;
    return Status::Ok();
  }

 private:
  static Result<float> Weight(std::int32_t word) {
    const auto weight = std::bit_cast<float>(word);
    if (!(weight >= 0 && weight <= 1)) return InvalidArgument("weight is out of range");
    return weight;
  }

  static Image Packed(const Image& in, ScratchBuffer& memory) {
    const std::size_t bytes = in.spec.bytes();
    std::uint8_t* const pixels = memory.Ensure(bytes);
    ToPacked(in, {}, std::span(pixels, bytes));
    Image packed = in;
    packed.data = pixels;
    packed.pixel_stride = static_cast<std::size_t>(in.spec.channels);
    packed.row_stride = packed.pixel_stride * static_cast<std::size_t>(in.spec.width);
    return packed;
  }

  const AugmentSpace& space_;  // the schema's, which outlives its kernels
  std::size_t branch_words_;
};

}  // namespace

void RegisterKernelAugMix(KernelRegistry& registry) {
  registry.Add<AugMixKernel, AugMixSchema>("aug_mix");
}

}  // namespace headrace::ops
