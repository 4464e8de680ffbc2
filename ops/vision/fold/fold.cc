#include "ops/vision/fold/fold.h"

#include <algorithm>

namespace headrace::ops {

Window Intersect(const Window& a, const Window& b) {
  const std::int64_t top = std::max(a.top, b.top);
  const std::int64_t left = std::max(a.left, b.left);
  const std::int64_t bottom = std::min(a.top + a.height, b.top + b.height);
  const std::int64_t right = std::min(a.left + a.width, b.left + b.width);
  return {top, left, std::max<std::int64_t>(bottom - top, 0),
          std::max<std::int64_t>(right - left, 0)};
}

bool IsInside(const Window& a, const ImageSpec& spec) {
  return a.top >= 0 && a.left >= 0 && a.height > 0 && a.width > 0 && a.height <= spec.height &&
         a.width <= spec.width && a.top <= spec.height - a.height && a.left <= spec.width - a.width;
}

void FoldedPass::Reset(const ImageSpec& source) {
  source_ = source;
  spec_ = source;
  base_ = {0, 0, source.height, source.width};
  flip_horizontal_ = false;
  flip_vertical_ = false;
  fills_.clear();
}

void FoldedPass::AddClipped(const Window& where, const ChannelValues& value) {
  const Window inside = Intersect(where, {0, 0, spec_.height, spec_.width});
  if (inside.height > 0 && inside.width > 0) fills_.push_back({inside, value});
}

void FoldedPass::Reframe(const Window& window, const ChannelValues& outside) {
  const std::int64_t old_height = spec_.height;
  const std::int64_t old_width = spec_.width;
  base_.top += flip_vertical_ ? old_height - window.top - window.height : window.top;
  base_.left += flip_horizontal_ ? old_width - window.left - window.width : window.left;
  base_.height = spec_.height = window.height;
  base_.width = spec_.width = window.width;

  std::size_t kept = 0;
  for (Fill fill : fills_) {
    fill.where.top -= window.top;
    fill.where.left -= window.left;
    fill.where = Intersect(fill.where, {0, 0, window.height, window.width});
    if (fill.where.height > 0 && fill.where.width > 0) fills_[kept++] = fill;
  }
  fills_.resize(kept);
  // The old image in coordinates of the new one, and the four strips around it.
  const std::int64_t top = -window.top;
  const std::int64_t left = -window.left;
  const std::int64_t bottom = top + old_height;
  const std::int64_t right = left + old_width;
  AddClipped({0, 0, top, window.width}, outside);
  AddClipped({bottom, 0, window.height - bottom, window.width}, outside);
  AddClipped({0, 0, window.height, left}, outside);
  AddClipped({0, right, window.height, window.width - right}, outside);
}

void FoldedPass::FlipHorizontal() {
  flip_horizontal_ = !flip_horizontal_;
  for (Fill& fill : fills_) fill.where.left = spec_.width - fill.where.left - fill.where.width;
}

void FoldedPass::FlipVertical() {
  flip_vertical_ = !flip_vertical_;
  for (Fill& fill : fills_) fill.where.top = spec_.height - fill.where.top - fill.where.height;
}

void FoldedPass::FillRect(const Window& where, const ChannelValues& value) {
  AddClipped(where, value);
}

void FoldedPass::MapFills(const OpSchema& schema) {
  for (Fill& fill : fills_) {
    for (int c = 0; c < spec_.channels; ++c) {
      double& value = fill.value[static_cast<std::size_t>(c)];
      value = schema.Map(c, value);
    }
  }
}

void FoldedPass::SetKind(const ImageSpec& kind) {
  spec_.channels = kind.channels;
  spec_.dtype = kind.dtype;
  spec_.layout = kind.layout;
}

Window FoldedPass::SourceWindow() const {
  return Intersect(base_, {0, 0, source_.height, source_.width});
}

}  // namespace headrace::ops
