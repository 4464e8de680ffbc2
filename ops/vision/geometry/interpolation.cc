#include "ops/vision/geometry/interpolation.h"

#include <array>
#include <utility>

namespace headrace::ops {

ArgSpec InterpolationArg() {
  return ArgSpec{"interpolation", ArgType::kText, std::string("bilinear"),
                 "nearest, nearest-exact, bilinear, bicubic, lanczos, box or hamming"}
      .OneOf({"nearest", "nearest-exact", "bilinear", "bicubic", "lanczos", "box", "hamming"});
}

Result<Interpolation> ReadInterpolation(const OpArgs& args) {
  // nearest and nearest-exact are the same for PIL images.
  // Source: torchvision/transforms/functional.py, pil_modes_mapping.
  static constexpr std::array<std::pair<std::string_view, Interpolation>, 7> kModes = {{
      {"nearest", Interpolation::kNearest},
      {"nearest-exact", Interpolation::kNearest},
      {"bilinear", Interpolation::kBilinear},
      {"bicubic", Interpolation::kBicubic},
      {"lanczos", Interpolation::kLanczos},
      {"box", Interpolation::kBox},
      {"hamming", Interpolation::kHamming},
  }};
  const std::string& text = args.Text("interpolation");
  for (const auto& [name, mode] : kModes) {
    if (text == name) return mode;
  }
  return InvalidArgument("unknown interpolation " + text);
}

}  // namespace headrace::ops
