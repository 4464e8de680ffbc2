#include "ops/decode/decode.h"

#include <string>

#include "ops/core/op_registry.h"
#include "ops/vision/image_header.h"
#include "ops/vision/image_kernel.h"
#include "ops/vision/jpeg/jpeg_decoder.h"
#include "ops/vision/png/png_decoder.h"

namespace headrace::ops {
namespace {

// torchvision.io decodes PNG files of 16 bits, with palettes and with alpha in ways of its own, and
// keeps a grey JPEG file's one channel where nobody asks for RGB.
Status CheckKind(const ImageHeader& header, DecodeAs as) {
  if (as == DecodeAs::kPil) return Status::Ok();
  if (header.format != ImageFormat::kJpeg) return Unsupported("torchvision.io: no JPEG file");
  if (header.channels == 3 || (header.channels == 1 && as == DecodeAs::kRgb)) return Status::Ok();
  return Unsupported("torchvision.io: a JPEG file of " + std::to_string(header.channels) +
                     " channels");
}

class DecodeKernel final : public ImageKernel {
 public:
  explicit DecodeKernel(DecodeAs as) : as_(as) {}
  Status Decode(ByteSpan file, const std::optional<Window>& window, bool packed, OpContext& context,
                ScratchBuffer& memory, Image* out) const override {
    HR_TRY(const ImageHeader header, ReadImageHeader(file));
    HR_RETURN_IF_ERROR(CheckKind(header, as_));
    const PixelFormat format = packed ? PixelFormat::kRgb : PixelFormat::kRgbx;
    if (header.format == ImageFormat::kJpeg) {
      return context.Tool<JpegDecoder>().DecodeRgb(file, window, format, memory, out);
    }
    return context.Tool<PngDecoder>().DecodeRgb(file, window, format, memory, out);
  }
  // Once decoded, nothing is left to do.
  [[nodiscard]] bool folds() const override { return true; }

 private:
  DecodeAs as_;
};

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& /*context*/) {
  return MakeKernel<DecodeKernel>(static_cast<const DecodeSchema&>(schema).as());
}

}  // namespace

void RegisterKernelDecode(KernelRegistry& registry) { registry.Add("decode", Make); }

}  // namespace headrace::ops
