#include "ops/random_operation/random_operation.h"

#include "ops/core/op_registry.h"
#include "ops/vision/floats.h"
#include "ops/vision/pil/image_ops.h"
#include "ops/vision/pil/sharpness.h"
#include "ops/vision/tensor/float_ops.h"
#include "ops/vision/tensor/tensor_ops.h"
#include "ops/vision/work.h"

namespace headrace::ops {
namespace {

using Operation = RandomOperationSchema::Operation;

class RandomOperationKernel final : public FloatKernel {
 public:
  explicit RandomOperationKernel(const RandomOperationSchema& schema)
      : options_(schema.options()) {}

  [[nodiscard]] Result<std::optional<Window>> InputWindow(const Request& request,
                                                          OpContext& /*context*/) const override {
    const bool pixel_by_pixel = options_.operation == Operation::kInvert ||
                                options_.operation == Operation::kPosterize ||
                                options_.operation == Operation::kSolarize;
    if (request.params[0] == 0 || pixel_by_pixel) return std::optional(request.wanted);
    return std::optional<Window>();  // needs a histogram, or neighbours
  }

  Status Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    if (params[0] == 0) {
      *out = in;
      return Status::Ok();
    }
    if (in.spec.dtype == DType::kF32) {
      const FloatPixels pixels = CopyFloats(in, memory);
      HR_RETURN_IF_ERROR(ApplyToFloats(pixels, context));
      pixels.Show(out);
      return Status::Ok();
    }
    Work work(in.Part(in.held), memory, context.scratch(0));
    Apply(work);
    out->data = work.image().data;
    out->row_stride = work.image().row_stride;
    out->pixel_stride = work.image().pixel_stride;
    return Status::Ok();
  }

 private:
  void Apply(Work& work) const {
    switch (options_.operation) {
      case Operation::kInvert:
        return Invert(work.Writable());
      case Operation::kPosterize:
        return Posterize(work.Writable(), static_cast<int>(options_.value));
      case Operation::kSolarize:
        if (options_.tensor) return TensorSolarize(work.Writable(), options_.value);
        return Solarize(work.Writable(), options_.value);
      case Operation::kSharpness:
        if (options_.tensor) (void)work.Writable();  // packed
        return work.Replace([&](std::uint8_t* pixels) {
          if (options_.tensor) {
            return TensorSharpness(work.image(), options_.value, options_.api, pixels);
          }
          AdjustSharpness(work.image(), static_cast<float>(options_.value), pixels);
        });
      case Operation::kAutoContrast:
        if (options_.tensor) return TensorAutoContrast(work.Writable(), options_.api);
        return AutoContrast(work.Writable());
      case Operation::kEqualize:
        return Equalize(work.Writable());
    }
  }

  [[nodiscard]] Status ApplyToFloats(const FloatPixels& pixels, OpContext& context) const {
    switch (options_.operation) {
      case Operation::kInvert:
        FloatInvert(pixels);
        return Status::Ok();
      case Operation::kPosterize:
        FloatPosterize(pixels, static_cast<int>(options_.value));
        return Status::Ok();
      case Operation::kSolarize:
        FloatSolarize(pixels, options_.value);
        return Status::Ok();
      case Operation::kAutoContrast:
        return FloatAutoContrast(pixels, options_.api);
      case Operation::kSharpness:
        return FloatSharpness(pixels, options_.value, options_.api, context);
      case Operation::kEqualize:
        break;
    }
    return Internal("an operation that has no form for float32");
  }

  const RandomOperationSchema::Options& options_;  // the schema's, which outlives its kernels
};

}  // namespace

void RegisterKernelRandomOperation(KernelRegistry& registry) {
  registry.Add<RandomOperationKernel, RandomOperationSchema>("random_operation");
}

}  // namespace headrace::ops
