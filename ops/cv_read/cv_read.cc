#include "ops/cv_read/cv_read.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "ops/core/op_registry.h"
#include "ops/core/schema_kernel.h"
#include "ops/vision/image_header.h"
#include "ops/vision/image_kernel.h"
#include "ops/vision/jpeg/jpeg_decoder.h"
#include "ops/vision/png/png_chunks.h"
#include "ops/vision/png/png_decoder.h"

namespace headrace::ops {
namespace {

using Order = CvReadSchema::Order;

// Chunks that neither OpenCV 4 nor 5 heeds when it reads 8-bit pixels, beside those of the pixels.
constexpr std::array<std::string_view, 9> kHarmless{"IHDR", "IDAT", "IEND", "pHYs", "tEXt",
                                                    "tIME", "gAMA", "sRGB", "cHRM"};

Status CheckChunks(ByteSpan file) {
  constexpr std::size_t kSignature = 8, kFraming = 12;
  for (std::size_t at = kSignature; at + kFraming <= file.size();) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      length = length << 8 | std::to_integer<std::size_t>(file[at + i]);
    }
    const std::string_view name = AsText(file.subspan(at + 4, 4));
    if (std::ranges::find(kHarmless, name) == kHarmless.end()) {
      return Unsupported("PNG for OpenCV: chunk " + std::string(name));
    }
    if (name == "IEND") return Status::Ok();
    if (length > file.size() - at - kFraming) break;
    at += length + kFraming;
  }
  return DataLoss("PNG: truncated");
}

class CvReadKernel final : public SchemaKernel<ImageKernel, CvReadSchema> {
 public:
  using SchemaKernel::SchemaKernel;

  Status Decode(ByteSpan file, const std::optional<Window>& window, bool /*packed*/,
                OpContext& context, ScratchBuffer& memory, Image* out) const override {
    HR_TRY(const ImageHeader header, ReadImageHeader(file));
    if (header.need_bytes > 0) return DataLoss("image file is truncated in its header");
    if (header.format == ImageFormat::kJpeg) {
      HR_RETURN_IF_ERROR(DecodeJpeg(file, header, context, memory, out));
    } else {
      HR_RETURN_IF_ERROR(DecodePng(file, header, context, memory, out));
    }
    if (!window) return Status::Ok();
    const Window& part = *window;
    if (part.top < 0 || part.left < 0 || part.height <= 0 || part.width <= 0 ||
        part.height > header.height - part.top || part.width > header.width - part.left) {
      return InvalidArgument("the window is not inside the image");
    }
    *out = out->Part(part);
    return Status::Ok();
  }
  [[nodiscard]] bool folds() const override { return true; }

 private:
  Status DecodeJpeg(ByteSpan file, const ImageHeader& header, OpContext& context,
                    ScratchBuffer& memory, Image* out) const {
    auto& decoder = context.Tool<JpegDecoder>();
    HR_TRY(const JpegForm form, decoder.ReadForm(file));
    if (!schema_.ignores_orientation() && form.orientation != 0 && form.orientation != 1) {
      return Unsupported("JPEG for OpenCV: a picture that Exif turns, or may turn");
    }
    const std::size_t channels = Describe(header, memory, out);
    const auto order = schema_.order() == Order::kRgb   ? Channels::kRgb
                       : schema_.order() == Order::kBgr ? Channels::kBgr
                                                        : Channels::kGray;
    auto* const pixels = reinterpret_cast<std::byte*>(memory.data());
    return decoder.DecodeWhole(file, order,
                               {pixels, channels * static_cast<std::size_t>(header.width) *
                                            static_cast<std::size_t>(header.height)});
  }

  Status DecodePng(ByteSpan file, const ImageHeader& header, OpContext& context,
                   ScratchBuffer& memory, Image* out) const {
    HR_TRY(const PngChunks png, WalkPngChunks(file));
    HR_RETURN_IF_ERROR(CheckChunks(file));
    constexpr int kGray = 0, kColor = 2;
    const bool gray = schema_.order() == Order::kGray;
    if (png.depth != 8 || (png.color != kGray && (png.color != kColor || gray))) {
      return Unsupported("PNG for OpenCV: another kind of colours");
    }
    Image read;
    HR_RETURN_IF_ERROR(context.Tool<PngDecoder>().DecodeRgb(file, std::nullopt, PixelFormat::kRgb,
                                                            context.scratch(1), &read));
    const std::size_t channels = Describe(header, memory, out);
    std::uint8_t* to = memory.data();
    for (std::int64_t y = 0; y < header.height; ++y) {
      const std::uint8_t* from = read.At(y, 0);
      for (std::int64_t x = 0; x < header.width; ++x, from += read.pixel_stride, to += channels) {
        if (gray) {
          to[0] = from[0];
        } else {
          const bool turned = schema_.order() == Order::kBgr;
          to[0] = from[turned ? 2 : 0];
          to[1] = from[1];
          to[2] = from[turned ? 0 : 2];
        }
      }
    }
    return Status::Ok();
  }

  // Describes the whole picture, packed in `memory`. Returns the bytes of a pixel.
  std::size_t Describe(const ImageHeader& header, ScratchBuffer& memory, Image* out) const {
    ImageSpec spec{header.height, header.width, 3, DType::kU8, Layout::kHwc};
    spec = schema_.OutputKind(spec);
    const auto channels = static_cast<std::size_t>(spec.channels);
    out->data = memory.Ensure(spec.bytes());
    out->pixel_stride = channels;
    out->row_stride = channels * static_cast<std::size_t>(spec.width);
    out->spec = spec;
    out->held = WholeOf(spec);
    return channels;
  }
};

}  // namespace

void RegisterKernelCvRead(KernelRegistry& registry) {
  registry.Add<CvReadKernel, CvReadSchema>("cv_read");
}

}  // namespace headrace::ops
