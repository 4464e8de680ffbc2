#include "ops/vision/resample/crop_resize.h"

namespace headrace::ops {

CropResize::CropResize(const Resizing& resizing, std::string_view pillow)
    : resizing_(resizing), order_(PassOrderOfPillow(pillow)) {}

ResizeSpec CropResize::SpecOf(const Window& crop, const ImageSpec& out) const {
  return {.in_width = crop.width,
          .in_height = crop.height,
          .out_width = out.width,
          .out_height = out.height,
          .filter = static_cast<Filter>(resizing_.interpolation),
          .order = order_,
          .box = std::nullopt,
          .arithmetic = resizing_.arithmetic,
          .antialias = resizing_.antialias};
}

Result<Window> CropResize::InputWindow(const Window& crop, const ImageSpec& out,
                                       const Window& wanted, OpContext& context) const {
  HR_TRY(Window read, context.Tool<Resampler>().InputWindow(SpecOf(crop, out), wanted));
  read.top += crop.top;
  read.left += crop.left;
  return read;
}

Status CropResize::Run(const Window& crop, const Image& in, OpContext& context,
                       ScratchBuffer& memory, Image* out) const {
  const ImageSpec whole = out->spec;
  // The held part of the crop.
  Window have = in.held;
  have.top -= crop.top;
  have.left -= crop.left;
  if (whole.height == crop.height && whole.width == crop.width) {
    *out = in;
    out->spec = whole;
    out->held = have;
    return Status::Ok();
  }
  const Window wanted = out->held;
  HR_RETURN_IF_ERROR(context.Tool<Resampler>().Resize(SpecOf(crop, whole), in.Part(in.held), have,
                                                      wanted, memory, out));
  out->spec = whole;
  out->held = wanted;
  return Status::Ok();
}

}  // namespace headrace::ops
