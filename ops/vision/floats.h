#pragma once

#include <span>

#include "base/result.h"
#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"

// Images of float32, which programs make before they crop, resize or pad (docs/adr/0041).
namespace headrace::ops {

// From one pixel of a float32 image in memory to the next: it has one float, or four of which the
// channels are the first.
[[nodiscard]] constexpr std::size_t FloatPixelBytes(int channels) {
  return (channels == 1 ? 1 : 4) * sizeof(float);
}

// kUnsupported unless the operator's input is a PIL image, or a tensor of uint8 or float32.
Status NeedsBytesOrFloats(const CompileContext& context);

// A kernel whose Run also takes images of float32, in HWC as those of uint8, and makes such images
// of them.
class FloatKernel : public ImageKernel {};

// A schema that maps float32 elements faster than one by one through Map, to the same bits.
class FloatMap {
 public:
  virtual ~FloatMap() = default;
  // Maps elements of one channel. REQUIRES: they are float32 before and after.
  virtual void MapFloats(int channel, std::span<float> values) const = 0;
};

}  // namespace headrace::ops
