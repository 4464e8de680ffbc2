#pragma once

#include <vector>

#include "ops/vision/image_kernel.h"

namespace headrace::ops {

// Combines operators that only move pixels, fill rectangles or map values. The resulting image is a
// window of the source image, perhaps mirrored, with rectangles over it. One pass renders it
// (ops/run/render.h). A decoder before this pass needs to decode only the window.
//
// Reused from sample to sample; not thread-safe.
class FoldedPass {
 public:
  struct Fill {
    Window where;  // in the image so far, inside of it
    ChannelValues value{};
  };

  // Starts with the whole of a source image.
  void Reset(const ImageSpec& source);

  // The image so far.
  [[nodiscard]] const ImageSpec& spec() const { return spec_; }

  // Takes a window of the image so far, which may lie partly or wholly outside the image. `outside`
  // is the value there.
  void Reframe(const Window& window, const ChannelValues& outside);
  void FlipHorizontal();
  void FlipVertical();
  // REQUIRES: `where` is inside the image so far.
  void FillRect(const Window& where, const ChannelValues& value);
  // Sends the values of the fills so far through the operator's Map.
  void MapFills(const OpSchema& schema);
  // Sets channels, element type and layout.
  void SetKind(const ImageSpec& kind);

  // The window of the source where the image so far lies, before mirroring. It may extend beyond
  // the source; fills cover that part.
  [[nodiscard]] const Window& base() const { return base_; }
  // The part of base() that is inside the source; no pixels if they do not meet.
  [[nodiscard]] Window SourceWindow() const;
  [[nodiscard]] bool flips_horizontal() const { return flip_horizontal_; }
  [[nodiscard]] bool flips_vertical() const { return flip_vertical_; }
  // Later ones cover earlier ones.
  [[nodiscard]] const std::vector<Fill>& fills() const { return fills_; }

 private:
  void AddClipped(const Window& where, const ChannelValues& value);

  ImageSpec source_;
  ImageSpec spec_;
  Window base_;
  bool flip_horizontal_ = false;
  bool flip_vertical_ = false;
  std::vector<Fill> fills_;
};

// The pixels that two windows share; height or width 0 if there are none.
[[nodiscard]] Window Intersect(const Window& a, const Window& b);

// True if `a` lies inside an image of that size and has pixels.
[[nodiscard]] bool IsInside(const Window& a, const ImageSpec& spec);

}  // namespace headrace::ops
