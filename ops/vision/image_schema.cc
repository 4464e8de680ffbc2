#include "ops/vision/image_schema.h"

#include <array>
#include <optional>
#include <utility>

namespace headrace::ops {
namespace {

// Sizes of every proportion. An operator that makes the same size of all of them fixes it: a crop,
// or a resize to height and width. Each sample is still checked when it runs.
constexpr std::array<std::pair<std::int64_t, std::int64_t>, 7> kProbes{
    {{375, 500}, {500, 375}, {64, 64}, {47, 33}, {1000, 3000}, {3000, 1000}, {701, 709}}};

// Keeps a side that all probes agreed on; 0: they differ.
void Merge(std::optional<std::int64_t>& side, std::int64_t probed) {
  if (!side) side = probed;
  if (*side != probed) side = 0;
}

}  // namespace

Status ImageSchema::CheckedShape(const ImageSpec& in, Params params, ImageSpec* out) const {
  HR_RETURN_IF_ERROR(DrawnShape(in, params, out));
  return CheckPixels(*out);
}

Status ImageSchema::Infer(const TensorSpec& in, TensorSpec* out) const {
  HR_TRY(const ImageSpec image, ReadInput(in));
  ImageSpec made;
  if (draws_shape()) {
    made = OutputKind(image);
    made.height = made.width = 0;
    *out = made.tensor();
    return Status::Ok();
  }
  if (image.height != 0 && image.width != 0) {
    HR_RETURN_IF_ERROR(CheckedShape(image, {}, &made));
    *out = made.tensor();
    return Status::Ok();
  }
  std::optional<std::int64_t> height, width;
  for (const auto& [probe_height, probe_width] : kProbes) {
    ImageSpec probe = image;
    if (probe.height == 0) probe.height = probe_height;
    if (probe.width == 0) probe.width = probe_width;
    if (!CheckedShape(probe, {}, &made).ok()) continue;  // the operator refuses this size
    Merge(height, made.height);
    Merge(width, made.width);
  }
  made = OutputKind(image);
  made.height = height.value_or(0);
  made.width = width.value_or(0);
  *out = made.tensor();
  return Status::Ok();
}

Status ImageSchema::InferDrawn(const TensorSpec& in, Params params, TensorSpec* out) const {
  HR_TRY(const ImageSpec image, ReadInput(in));
  ImageSpec made;
  HR_RETURN_IF_ERROR(CheckedShape(image, params, &made));
  *out = made.tensor();
  return Status::Ok();
}

template <typename DrawOne>
Status ImageSchema::DrawWith(const TensorSpec& in, TensorSpec* out, DrawOne draw) const {
  HR_TRY(const ImageSpec image, ReadInput(in));
  ImageSpec made;
  HR_RETURN_IF_ERROR(draw(image, &made));
  HR_RETURN_IF_ERROR(CheckPixels(made));
  *out = made.tensor();
  return Status::Ok();
}

Status ImageSchema::Draw(const TensorSpec& in, TorchGenerator& rng, MutableParams params,
                         TensorSpec* out) const {
  return DrawWith(in, out, [&](const ImageSpec& image, ImageSpec* made) {
    return DrawImage(image, rng, params, made);
  });
}

Status ImageSchema::DrawFromPython(const TensorSpec& in, PythonGenerator& rng, MutableParams params,
                                   TensorSpec* out) const {
  return DrawWith(in, out, [&](const ImageSpec& image, ImageSpec* made) {
    return DrawImageFromPython(image, rng, params, made);
  });
}

Status ImageSchema::DrawFromNumpy(const TensorSpec& in, PythonGenerator& python,
                                  NumpyGenerator& numpy, MutableParams params,
                                  TensorSpec* out) const {
  return DrawWith(in, out, [&](const ImageSpec& image, ImageSpec* made) {
    return DrawImageFromNumpy(image, python, numpy, params, made);
  });
}

}  // namespace headrace::ops
