#pragma once

#include "ops/vision/geometry/resizing.h"
#include "ops/vision/image_schema.h"

namespace headrace::ops {

// torchvision v2's RandomResize on PIL images and uint8 tensors: the shorter edge becomes a drawn
// length. Params: that length. From Python's generator it is random.randint's.
class RandomResizeSchema final : public ImageSchema {
 public:
  // A length in [least, end).
  RandomResizeSchema(std::int64_t least, std::int64_t end, const Resizing& resizing,
                     bool from_python)
      : least_(least), end_(end), resizing_(resizing), from_python_(from_python) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override { return 1; }
  [[nodiscard]] bool draws_shape() const override { return true; }
  Status DrawnShape(const ImageSpec& in, Params params, ImageSpec* out) const override;
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;
  [[nodiscard]] bool draws_from_python() const override { return from_python_; }
  Status DrawImageFromPython(const ImageSpec& in, PythonGenerator& rng, MutableParams params,
                             ImageSpec* out) const override;
  [[nodiscard]] const Resizing& resizing() const { return resizing_; }

 private:
  std::int64_t least_, end_;
  Resizing resizing_;
  bool from_python_;
};

}  // namespace headrace::ops
