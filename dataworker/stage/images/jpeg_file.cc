#include "dataworker/stage/images/jpeg_file.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "dataworker/stage/images/tools.h"
#include "ops/vision/jpeg/jpeg_decoder.h"

namespace nb = nanobind;

namespace headrace {
namespace {

using File = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Pixels = nb::ndarray<std::uint8_t, nb::c_contig, nb::device::cpu>;

ByteSpan Span(const File& file) {
  return {reinterpret_cast<const std::byte*>(file.data()), file.size()};
}

// Thread-safe. Decodes without the GIL.
class JpegFiles {
 public:
  std::optional<ops::JpegForm> Form(const File& file) {
    Result<ops::JpegForm> form =
        decoders_.With([&](ops::JpegDecoder& decoder) { return decoder.ReadForm(Span(file)); });
    if (!form.ok()) return std::nullopt;
    return std::move(form).value();
  }

  bool Decode(const File& file, std::string_view channels, const Pixels& out) {
    const auto order = channels == "RGB"   ? ops::Channels::kRgb
                       : channels == "BGR" ? ops::Channels::kBgr
                                           : ops::Channels::kGray;
    const MutableByteSpan pixels{reinterpret_cast<std::byte*>(out.data()), out.nbytes()};
    const nb::gil_scoped_release release;
    return decoders_
        .With([&](ops::JpegDecoder& decoder) {
          return decoder.DecodeWhole(Span(file), order, pixels);
        })
        .ok();
  }

 private:
  images::Tools<ops::JpegDecoder> decoders_;
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
