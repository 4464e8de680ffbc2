#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "ops/vision/image.h"

// The OpenCV library, which is loaded when the first operator of it is made. A shared object of
// ours, libheadrace_opencv.so (ops/opencv), calls it. So a worker of other programs does without
// OpenCV and what that loads.
namespace headrace::ops {

// Pixels of 8 bits, one or three channels, in somebody else's memory.
struct CvPicture {
  const std::uint8_t* data = nullptr;
  std::int32_t height = 0, width = 0, channels = 0;
  std::size_t stride = 0;  // bytes from a row to the next one
};

// Where a result goes: rows without gaps.
struct CvResult {
  std::uint8_t* data = nullptr;
  std::int32_t height = 0, width = 0, channels = 0;
};

// What the shared object offers, by OpenCV's own numbers for flags. Each call runs on its own
// thread alone and returns null, or the text of an error, which holds until the thread's next call.
// REQUIRES: the checks of cv_args.h. Thread-safe.
struct OpenCvTable {
  std::size_t size = 0;  // of this struct: another build's table has another size
  const char* version = nullptr;
  const char* (*resize)(const CvPicture& in, int interpolation, const CvResult& out) = nullptr;
  const char* (*cvt_color)(const CvPicture& in, int code, const CvResult& out) = nullptr;
  const char* (*gaussian_blur)(const CvPicture& in, int width, int height, double sigma_x,
                               double sigma_y, int border, const CvResult& out) = nullptr;
  // `matrix`: six numbers; `outside`: four.
  const char* (*warp_affine)(const CvPicture& in, const double* matrix, int flags, int border,
                             const double* outside, const CvResult& out) = nullptr;
};

// The table, loaded once in a process. kUnsupported: this host has no libheadrace_opencv.so, or the
// libraries that it needs are missing; the text says which. Thread-safe.
Result<const OpenCvTable*> LoadOpenCv();

// The held pixels for OpenCV, packed into `memory` if they have a fourth byte.
CvPicture PictureOf(const Image& in, ScratchBuffer& memory);
// All of the result that out->spec says, in `memory`. Sets data, strides and the held part.
CvResult ResultOf(ScratchBuffer& memory, Image* out);
// kUnsupported with the text of an error, of which there is none if it is null.
Status CvStatus(const char* error);

}  // namespace headrace::ops
