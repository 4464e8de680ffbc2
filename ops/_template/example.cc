#include "ops/_template/example.h"

#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"

namespace headrace::ops {
namespace {

class ExampleKernel final : public ImageKernel {
 public:
  Status Run(const Image& in, Params params, OpContext& /*context*/, ScratchBuffer& memory,
             Image* out) const override {
    if (params[0] == 0) {
      *out = in;
      return Status::Ok();
    }
    const auto width = static_cast<std::size_t>(in.spec.width);
    const auto channels = static_cast<std::size_t>(in.spec.channels);
    std::uint8_t* to = memory.Ensure(out->spec.bytes());
    out->data = to;
    out->pixel_stride = channels;
    out->row_stride = width * channels;
    for (std::int64_t y = 0; y < in.spec.height; ++y) {
      const std::uint8_t* pixel = in.At(y, 0);
      for (std::size_t x = 0; x < width; ++x, pixel += in.pixel_stride) {
        for (std::size_t c = 0; c < channels; ++c) {
          *to++ = static_cast<std::uint8_t>(255 - pixel[c]);
        }
      }
    }
    return Status::Ok();
  }
};

}  // namespace

void RegisterKernelExample(KernelRegistry& registry) { registry.Add<ExampleKernel>("example"); }

}  // namespace headrace::ops
