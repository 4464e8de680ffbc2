#include "ops/reverse_channels/reverse_channels.h"

#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"

namespace headrace::ops {
namespace {

class ReverseChannelsKernel final : public ImageKernel {
 public:
  [[nodiscard]] Result<std::optional<Window>> InputWindow(const Request& request,
                                                          OpContext& /*context*/) const override {
    return std::optional(request.wanted);
  }

  Status Run(const Image& in, Params /*params*/, OpContext& /*context*/, ScratchBuffer& memory,
             Image* out) const override {
    if (in.spec.channels == 1) {
      *out = in;
      return Status::Ok();
    }
    const Window& part = out->held;
    const auto width = static_cast<std::size_t>(part.width);
    std::uint8_t* to = memory.Ensure(3 * width * static_cast<std::size_t>(part.height));
    out->data = to;
    out->pixel_stride = 3;
    out->row_stride = 3 * width;
    for (std::int64_t y = part.top; y < part.top + part.height; ++y) {
      const std::uint8_t* from = in.At(y, part.left);
      for (std::size_t x = 0; x < width; ++x, from += in.pixel_stride, to += 3) {
        to[0] = from[2];
        to[1] = from[1];
        to[2] = from[0];
      }
    }
    return Status::Ok();
  }
};

}  // namespace

void RegisterKernelReverseChannels(KernelRegistry& registry) {
  registry.Add<ReverseChannelsKernel>("reverse_channels");
}

}  // namespace headrace::ops
