#pragma once

#include <cstdint>

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// Whose decoding it is. The pixels are the same; which files are left to the trainer differs.
enum class DecodeAs : std::uint8_t {
  kPil,        // PIL.Image.open(file).convert("RGB"), of JPEG and PNG files
  kRgb,        // torchvision.io.decode_image(file, RGB), of JPEG files in colour and grey
  kLuma,       // convert("L"), of the same files
  kIndex,      // as the file has it, of files that PIL opens in the modes L and P
  kUnchanged,  // torchvision.io.decode_image(file), of JPEG files in colour
};

class DecodeSchema final : public ImageSchema {
 public:
  explicit DecodeSchema(DecodeAs as) : as_(as) {}
  [[nodiscard]] DecodeAs as() const { return as_; }
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  // What a file's header says.
  [[nodiscard]] std::optional<TensorSpec> SourceSpec() const override {
    return TensorSpec{DType::kU8, Layout::kHwc, {Dims::kAny, Dims::kAny, 3}};
  }
  [[nodiscard]] ImageSpec OutputKind(const ImageSpec& in) const override {
    const bool one = as_ == DecodeAs::kLuma || as_ == DecodeAs::kIndex;
    return {in.height, in.width, one ? 1 : 3, DType::kU8, Layout::kHwc};
  }

 private:
  DecodeAs as_;
};

}  // namespace headrace::ops
