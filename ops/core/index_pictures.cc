#include "ops/core/index_pictures.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <variant>

namespace headrace::ops {
namespace {

constexpr std::array<std::string_view, 14> kMoving = {"center_crop",   "crop",
                                                      "five_crop",     "flip",
                                                      "identity",      "pad",
                                                      "pil_to_tensor", "random_apply",
                                                      "random_crop",   "random_horizontal_flip",
                                                      "random_order",  "random_vertical_flip",
                                                      "to_image",      "to_tensor"};
constexpr std::array<std::string_view, 6> kResampling = {
    "random_affine",   "random_perspective",  "random_resize",
    "random_rotation", "random_resized_crop", "resize"};

bool HasText(const Node& node, const std::string& name, std::string_view text) {
  const auto arg = node.args.find(name);
  const auto* value = arg == node.args.end() ? nullptr : std::get_if<std::string>(&arg->second);
  return value != nullptr && *value == text;
}

}  // namespace

bool MakesIndices(const Node& node) {
  return node.op == "decode" && HasText(node, "mode", "index");
}

Status CheckOnIndices(const Node& node) {
  if (std::ranges::find(kMoving, node.op) != kMoving.end()) return {};
  if (std::ranges::find(kResampling, node.op) == kResampling.end()) {
    return Unsupported("has no native form for pictures that may have a palette");
  }
  if (HasText(node, "interpolation", "nearest") ||
      HasText(node, "interpolation", "nearest-exact")) {
    return {};
  }
  return Unsupported("pictures that may have a palette are resampled by the nearest pixel only");
}

}  // namespace headrace::ops
