#pragma once

#include "ops/core/op.h"
#include "ops/vision/image.h"

namespace headrace::ops {

// The light half of an operator on images: OpSchema in an image's own words. Operators that make
// another size override Shape, those that change type, layout or channels OutputKind, and those
// that draw DrawImage.
class ImageSchema : public OpSchema {
 public:
  // Channels, element type and layout of the output; height and width are ignored.
  [[nodiscard]] virtual ImageSpec OutputKind(const ImageSpec& in) const { return in; }
  // As OpSchema::Infer, for an image whose size is known.
  virtual Status Shape(const ImageSpec& in, ImageSpec* out) const {
    *out = OutputKind(in);
    return Status::Ok();
  }
  // Whether the output's size depends on draws. Such an operator overrides DrawnShape, and not Shape.
  [[nodiscard]] virtual bool draws_shape() const { return false; }
  // Shape for a sample with these params. kInvalidArgument also: params that are never drawn.
  virtual Status DrawnShape(const ImageSpec& in, Params /*params*/, ImageSpec* out) const {
    return Shape(in, out);
  }
  // As OpSchema::Draw.
  virtual Status DrawImage(const ImageSpec& in, TorchGenerator& /*rng*/, MutableParams /*params*/,
                           ImageSpec* out) const {
    return Shape(in, out);
  }

  // As OpSchema::DrawFromPython.
  virtual Status DrawImageFromPython(const ImageSpec& in, PythonGenerator& /*rng*/,
                                     MutableParams /*params*/, ImageSpec* out) const {
    return Shape(in, out);
  }

  // As OpSchema::DrawFromNumpy.
  virtual Status DrawImageFromNumpy(const ImageSpec& in, PythonGenerator& /*python*/,
                                    NumpyGenerator& /*numpy*/, MutableParams /*params*/,
                                    ImageSpec* out) const {
    return Shape(in, out);
  }

  // DrawnShape, and a check of the size that it makes.
  Status CheckedShape(const ImageSpec& in, Params params, ImageSpec* out) const;

  // What the operator takes as an image. The first operator of a chain also reads rows of arrays.
  [[nodiscard]] virtual Result<ImageSpec> ReadInput(const TensorSpec& in) const {
    return ImageSpec::From(in);
  }
  Status Infer(const TensorSpec& in, TensorSpec* out) const final;
  Status InferDrawn(const TensorSpec& in, Params params, TensorSpec* out) const final;
  Status Draw(const TensorSpec& in, TorchGenerator& rng, MutableParams params,
              TensorSpec* out) const final;
  Status DrawFromPython(const TensorSpec& in, PythonGenerator& rng, MutableParams params,
                        TensorSpec* out) const final;
  Status DrawFromNumpy(const TensorSpec& in, PythonGenerator& python, NumpyGenerator& numpy,
                       MutableParams params, TensorSpec* out) const final;

 private:
  // Draws by `draw(image, made)`.
  template <typename DrawOne>
  Status DrawWith(const TensorSpec& in, TensorSpec* out, DrawOne draw) const;
};

}  // namespace headrace::ops
