#include "dataworker/stage_host/images/jpeg_file.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "ops/image/jpeg_decoder.h"

namespace nb = nanobind;

namespace headrace {
namespace {

using File = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Pixels = nb::ndarray<std::uint8_t, nb::c_contig, nb::device::cpu>;

ByteSpan Span(const File& file) {
  return {reinterpret_cast<const std::byte*>(file.data()), file.size()};
}

// Thread-safe: one call decodes at a time, without the GIL.
class JpegFiles {
 public:
  std::optional<ops::JpegForm> Form(const File& file) {
    const std::scoped_lock lock(mutex_);
    Result<ops::JpegForm> form = decoder_.ReadForm(Span(file));
    if (!form.ok()) return std::nullopt;
    return std::move(form).value();
  }

  bool Decode(const File& file, std::string_view channels, const Pixels& out) {
    const auto order = channels == "RGB"   ? ops::Channels::kRgb
                       : channels == "BGR" ? ops::Channels::kBgr
                                           : ops::Channels::kGray;
    const nb::gil_scoped_release release;
    const std::scoped_lock lock(mutex_);
    return decoder_
        .DecodeWhole(Span(file), order, {reinterpret_cast<std::byte*>(out.data()), out.nbytes()})
        .ok();
  }

 private:
  std::mutex mutex_;
  ops::JpegDecoder decoder_;
};

}  // namespace

void BindJpegFiles(nb::module_& module) {
  using ops::JpegForm;
  nb::class_<JpegForm>(module, "JpegForm")
      .def_prop_ro("height", [](const JpegForm& form) { return form.header.height; })
      .def_prop_ro("width", [](const JpegForm& form) { return form.header.width; })
      .def_prop_ro("components", [](const JpegForm& form) { return form.header.components; })
      .def_prop_ro("progressive", [](const JpegForm& form) { return form.header.progressive; })
      .def_ro("sampling", &JpegForm::sampling)
      .def_ro("orientation", &JpegForm::orientation);
  nb::class_<JpegFiles>(module, "JpegFiles")
      .def(nb::init<>())
      .def("form", &JpegFiles::Form, nb::arg("file"))
      .def("decode", &JpegFiles::Decode, nb::arg("file"), nb::arg("channels"), nb::arg("out"));
}

}  // namespace headrace
