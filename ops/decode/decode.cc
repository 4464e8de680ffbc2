#include "ops/decode/decode.h"

#include <string>

#include "ops/core/op_registry.h"
#include "ops/vision/image_header.h"
#include "ops/vision/image_kernel.h"
#include "ops/vision/jpeg/jpeg_decoder.h"
#include "ops/vision/pil/luma.h"
#include "ops/vision/png/png_decoder.h"

namespace headrace::ops {
namespace {

// Whether files of this kind have a native form. PngDecoder looks at the modes of PNG files itself.
// torchvision.io decodes PNG files of 16 bits, with palettes and with alpha in ways of its own, and
// keeps a grey JPEG file's one channel where nobody asks for RGB.
Status CheckKind(const ImageHeader& header, DecodeAs as) {
  if (as == DecodeAs::kPil || as == DecodeAs::kLuma) return Status::Ok();
  if (as == DecodeAs::kIndex) {
    if (header.format == ImageFormat::kPng || header.channels == 1) return Status::Ok();
    return Unsupported("JPEG: a file of another mode than L");
  }
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
    if (as_ == DecodeAs::kIndex && header.format == ImageFormat::kPng) {
      return context.Tool<PngDecoder>().DecodeIndices(file, window, memory, out);
    }
    if (as_ != DecodeAs::kLuma && as_ != DecodeAs::kIndex) {
      const PixelFormat format = packed ? PixelFormat::kRgb : PixelFormat::kRgbx;
      return DecodeColors(file, header, window, format, context, memory, out);
    }
    // The luma of three equal values is that value, so a gray file keeps its own.
    Image colors;
    HR_RETURN_IF_ERROR(DecodeColors(file, header, window, PixelFormat::kRgbx, context,
                                    context.Tool<Colors>().memory, &colors));
    out->spec = colors.spec;
    out->spec.channels = 1;
    out->held = colors.held;
    ConvertToLuma(colors, memory, out);
    return Status::Ok();
  }
  // Once decoded, nothing is left to do.
  [[nodiscard]] bool folds() const override { return true; }

 private:
  // The pixels before they become one channel.
  struct Colors {
    ScratchBuffer memory;
  };
  static Status DecodeColors(ByteSpan file, const ImageHeader& header,
                             const std::optional<Window>& window, PixelFormat format,
                             OpContext& context, ScratchBuffer& memory, Image* out) {
    if (header.format == ImageFormat::kJpeg) {
      return context.Tool<JpegDecoder>().DecodeRgb(file, window, format, memory, out);
    }
    return context.Tool<PngDecoder>().DecodeRgb(file, window, format, memory, out);
  }

  DecodeAs as_;
};

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& /*context*/) {
  return MakeKernel<DecodeKernel>(static_cast<const DecodeSchema&>(schema).as());
}

}  // namespace

void RegisterKernelDecode(KernelRegistry& registry) { registry.Add("decode", Make); }

}  // namespace headrace::ops
