// The OpenCV library as an OpenCvTable: the one file of the worker that knows it.
#include <array>
#include <exception>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <string>

#include "ops/vision/opencv/opencv_library.h"

namespace headrace::ops {
namespace {

cv::Mat MatOf(const CvPicture& in) {
  // OpenCV has no constant pictures. Its functions write to none of their inputs.
  return {in.height, in.width, CV_8UC(in.channels), const_cast<std::uint8_t*>(in.data), in.stride};
}

// Runs call(out), where `out` is the result's memory. The text of an error is the thread's own.
template <typename Call>
const char* Guarded(const CvResult& result, Call call) noexcept {
  static thread_local std::string error;
  try {
    cv::Mat out(result.height, result.width, CV_8UC(result.channels), result.data);
    call(out);
    if (out.data == result.data) return nullptr;
    error = "a result of another size or type";
  } catch (const cv::Exception& raised) {
    error = raised.err.empty() ? "an error without a text" : raised.err;
  } catch (const std::exception& raised) {
    error = raised.what();
  } catch (...) {
    error = "an unknown error";
  }
  return error.c_str();
}

const char* Resize(const CvPicture& in, int interpolation, const CvResult& result) {
  return Guarded(result, [&](cv::Mat& out) {
    cv::resize(MatOf(in), out, cv::Size(result.width, result.height), 0, 0, interpolation);
  });
}

const char* CvtColor(const CvPicture& in, int code, const CvResult& result) {
  return Guarded(result, [&](cv::Mat& out) { cv::cvtColor(MatOf(in), out, code); });
}

const char* GaussianBlur(const CvPicture& in, int width, int height, double sigma_x, double sigma_y,
                         int border, const CvResult& result) {
  return Guarded(result, [&](cv::Mat& out) {
    cv::GaussianBlur(MatOf(in), out, cv::Size(width, height), sigma_x, sigma_y, border);
  });
}

const char* WarpAffine(const CvPicture& in, const double* matrix, int flags, int border,
                       const double* outside, const CvResult& result) {
  return Guarded(result, [&](cv::Mat& out) {
    const cv::Mat by(2, 3, CV_64F, const_cast<double*>(matrix));
    cv::warpAffine(MatOf(in), out, by, cv::Size(result.width, result.height), flags, border,
                   cv::Scalar(outside[0], outside[1], outside[2], outside[3]));
  });
}

}  // namespace
}  // namespace headrace::ops

extern "C" __attribute__((visibility("default"))) const headrace::ops::OpenCvTable*
headrace_opencv_table() {
  using namespace headrace::ops;
  static const OpenCvTable kTable = [] {
    // The worker's own threads run operators side by side; OpenCV starts none.
    cv::setNumThreads(1);
    return OpenCvTable{sizeof(OpenCvTable), CV_VERSION, Resize, CvtColor, GaussianBlur, WarpAffine};
  }();
  return &kTable;
}
