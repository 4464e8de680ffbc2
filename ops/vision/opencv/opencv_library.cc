#include "ops/vision/opencv/opencv_library.h"

#include <dlfcn.h>

#include <cstring>

namespace headrace::ops {
namespace {

constexpr const char* kFile = "libheadrace_opencv.so";  // found by the run path of the program

Result<const OpenCvTable*> Open() {
  void* library = dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return Unsupported(std::string("this worker has no OpenCV: ") + (why ? why : kFile));
  }
  const auto table =
      reinterpret_cast<const OpenCvTable* (*)()>(dlsym(library, "headrace_opencv_table"));
  const OpenCvTable* found = table == nullptr ? nullptr : table();
  if (found == nullptr || found->size != sizeof(OpenCvTable)) {
    return Unsupported(std::string("this worker has the ") + kFile + " of another build");
  }
  return found;
}

}  // namespace

Result<const OpenCvTable*> LoadOpenCv() {
  // Never unloaded: kernels keep the pointers, and OpenCV has state of each thread.
  static const Result<const OpenCvTable*> kTable = Open();
  return kTable;
}

CvPicture PictureOf(const Image& in, ScratchBuffer& memory) {
  const auto channels = static_cast<std::size_t>(in.spec.channels);
  CvPicture picture{in.data, static_cast<std::int32_t>(in.held.height),
                    static_cast<std::int32_t>(in.held.width), in.spec.channels, in.row_stride};
  if (in.pixel_stride == channels) return picture;
  const std::size_t row = static_cast<std::size_t>(in.held.width) * channels;
  std::uint8_t* to = memory.Ensure(row * static_cast<std::size_t>(in.held.height));
  picture.data = to;
  picture.stride = row;
  for (std::int64_t y = 0; y < in.held.height; ++y) {
    const std::uint8_t* from = in.data + static_cast<std::size_t>(y) * in.row_stride;
    for (std::int64_t x = 0; x < in.held.width; ++x, from += in.pixel_stride, to += channels) {
      std::memcpy(to, from, channels);
    }
  }
  return picture;
}

CvResult ResultOf(ScratchBuffer& memory, Image* out) {
  const auto channels = static_cast<std::size_t>(out->spec.channels);
  std::uint8_t* data = memory.Ensure(out->spec.bytes());
  out->data = data;
  out->pixel_stride = channels;
  out->row_stride = static_cast<std::size_t>(out->spec.width) * channels;
  out->held = WholeOf(out->spec);
  return {data, static_cast<std::int32_t>(out->spec.height),
          static_cast<std::int32_t>(out->spec.width), out->spec.channels};
}

Status CvStatus(const char* error) {
  if (error == nullptr) return Status::Ok();
  return Unsupported(std::string("OpenCV: ") + error);
}

}  // namespace headrace::ops
