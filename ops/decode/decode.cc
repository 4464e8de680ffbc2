#include "ops/decode/decode.h"

#include "ops/core/op_registry.h"
#include "ops/vision/image_header.h"
#include "ops/vision/image_kernel.h"
#include "ops/vision/jpeg/jpeg_decoder.h"
#include "ops/vision/png/png_decoder.h"

namespace headrace::ops {
namespace {

class DecodeKernel final : public ImageKernel {
 public:
  Status Decode(ByteSpan file, const std::optional<Window>& window, bool packed, OpContext& context,
                ScratchBuffer& memory, Image* out) const override {
    HR_TRY(const ImageHeader header, ReadImageHeader(file));
    const PixelFormat format = packed ? PixelFormat::kRgb : PixelFormat::kRgbx;
    if (header.format == ImageFormat::kJpeg) {
      return context.Tool<JpegDecoder>().DecodeRgb(file, window, format, memory, out);
    }
    return context.Tool<PngDecoder>().DecodeRgb(file, window, format, memory, out);
  }
  // Once decoded, nothing is left to do.
  [[nodiscard]] bool folds() const override { return true; }
};

Result<KernelPtr> Make(const OpSchema& /*schema*/, const CompileContext& /*context*/) {
  return MakeKernel<DecodeKernel>();
}

}  // namespace

void RegisterKernelDecode(KernelRegistry& registry) { registry.Add("decode", Make); }

}  // namespace headrace::ops
