#include "ops/image/augment.h"

#include <utility>

#include "base/check.h"
#include "ops/image/affine.h"
#include "ops/image/enhance.h"
#include "ops/image/image_ops.h"
#include "ops/image/pointwise.h"
#include "ops/image/sharpness.h"

namespace headrace::ops {
namespace {

constexpr AffineMatrix kUnmoved{1, 0, 0, 0, 1, 0};

// An image that is changed step by step: it starts as the input, which is not written to, and lies
// in `memory` from the first change on.
class Work {
 public:
  Work(const Image& in, ScratchBuffer& memory, ScratchBuffer& spare)
      : image_(in), memory_(memory), spare_(spare) {}

  [[nodiscard]] const Image& image() const { return image_; }

  // The image to change in place.
  Canvas Writable() {
    if (image_.data != memory_.data()) {
      std::uint8_t* pixels = memory_.Ensure(image_.spec.bytes());
      ToPacked(image_, {}, std::span(pixels, image_.spec.bytes()));
      Adopt(pixels);
    }
    return {memory_.data(), image_.row_stride, image_.pixel_stride, image_.spec};
  }

  // make(packed pixels to write): the image that comes next, made of the one so far.
  template <typename MakeNext>
  void Replace(MakeNext make) {
    std::uint8_t* pixels = spare_.Ensure(image_.spec.bytes());
    make(pixels);
    std::swap(memory_, spare_);
    Adopt(pixels);
  }

 private:
  void Adopt(const std::uint8_t* pixels) {
    image_.data = pixels;
    image_.pixel_stride = static_cast<std::size_t>(image_.spec.channels);
    image_.row_stride = image_.pixel_stride * static_cast<std::size_t>(image_.spec.width);
  }

  Image image_;
  ScratchBuffer& memory_;
  ScratchBuffer& spare_;
};

void Apply(const Augmentation& step, const AugmentSpace& space, Work& work) {
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
        TransformAffine(work.image(), step.matrix, space.interpolation(), space.fill(), pixels);
      });
    case AugmentOp::kBrightness:
      return AdjustBrightness(work.Writable(), step.factor);
    case AugmentOp::kColor:
      return AdjustSaturation(work.Writable(), step.factor);
    case AugmentOp::kContrast:
      return AdjustContrast(work.Writable(), step.factor);
    case AugmentOp::kSharpness:
      return work.Replace(
          [&](std::uint8_t* pixels) { AdjustSharpness(work.image(), step.factor, pixels); });
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

}  // namespace

Status AugmentKernel::Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
                          Image* out) const {
  HR_CHECK(params.size() % AugmentSpace::kWords == 0);
  Work work(in, memory, context.scratch(0));
  for (; !params.empty(); params = params.subspan(AugmentSpace::kWords)) {
    HR_TRY(const Augmentation step, space_.Read(params.first(AugmentSpace::kWords), in.spec));
    Apply(step, space_, work);
  }
  out->data = work.image().data;
  out->row_stride = work.image().row_stride;
  out->pixel_stride = work.image().pixel_stride;
  return Status::Ok();
}

}  // namespace headrace::ops
