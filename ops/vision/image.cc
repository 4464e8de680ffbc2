#include "ops/vision/image.h"

#include <string>

namespace headrace::ops {
namespace {

// No operator makes images larger than this; keeps every size computation far from overflow.
constexpr std::int64_t kMaxPixels = std::int64_t{1} << 30;

// A size of a tensor as one of an image, where 0 stands for any. A tensor's own 0 becomes a size
// that is refused.
constexpr std::int64_t SideOf(std::int64_t size) {
  if (size == Dims::kAny) return 0;
  return size == 0 ? -1 : size;
}
constexpr std::int64_t SizeOf(std::int64_t side) { return side == 0 ? Dims::kAny : side; }

Result<ImageSpec> Checked(std::int64_t height, std::int64_t width, std::int64_t channels,
                          const TensorSpec& tensor, Layout layout) {
  if (channels < 1 || channels > 4) {
    return InvalidArgument("not an image: " + tensor.ToString());
  }
  const ImageSpec spec{SideOf(height), SideOf(width), static_cast<std::int32_t>(channels),
                       tensor.dtype, layout};
  if (spec.height != 0 && spec.width != 0) HR_RETURN_IF_ERROR(CheckPixels(spec));
  return spec;
}

}  // namespace

TensorSpec ImageSpec::tensor() const {
  const std::int64_t h = SizeOf(height), w = SizeOf(width);
  if (layout == Layout::kChw) return {dtype, layout, {channels, h, w}};
  return {dtype, layout, {h, w, channels}};
}

Result<ImageSpec> ImageSpec::From(const TensorSpec& tensor) {
  const Dims& dims = tensor.dims;
  if (dims.rank() != 3 || tensor.layout == Layout::kPlain) {
    return InvalidArgument("not an image: " + tensor.ToString());
  }
  if (tensor.layout == Layout::kChw) {
    return Checked(dims[1], dims[2], dims[0], tensor, Layout::kChw);
  }
  return Checked(dims[0], dims[1], dims[2], tensor, Layout::kHwc);
}

Result<ImageSpec> ImageSpec::FromRow(const TensorSpec& row) {
  const Dims& dims = row.dims;
  if (row.layout != Layout::kPlain || dims.rank() < 2 || dims.rank() > 3) {
    return InvalidArgument("not an image: " + row.ToString());
  }
  return Checked(dims[0], dims[1], dims.rank() == 3 ? dims[2] : 1, row, Layout::kHwc);
}

Status CheckPixels(const ImageSpec& spec) {
  const auto image = [&] {
    return "image of " + std::to_string(spec.height) + " x " + std::to_string(spec.width) +
           " pixels";
  };
  if (spec.height <= 0 || spec.width <= 0) return InvalidArgument(image());
  if (spec.height > kMaxPixels || spec.width > kMaxPixels ||
      spec.height * spec.width > kMaxPixels) {
    return Unsupported(image() + " is too large");
  }
  return Status::Ok();
}

}  // namespace headrace::ops
