#include "ops/core/index_pictures.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <variant>

#include "ops/core/op_registry.h"

namespace headrace::ops {
namespace {

constexpr std::array<std::string_view, 16> kMoving = {"center_crop",     "crop",
                                                      "five_crop",       "flip",
                                                      "identity",        "pad",
                                                      "pil_to_tensor",   "random_apply",
                                                      "random_crop",     "random_horizontal_flip",
                                                      "random_order",    "random_vertical_flip",
                                                      "random_zoom_out", "to_dtype",
                                                      "to_image",        "to_tensor"};
constexpr std::array<std::string_view, 8> kResampling = {
    "random_affine", "random_perspective", "random_resize",       "random_shortest_size",
    "scale_jitter",  "random_rotation",    "random_resized_crop", "resize"};

// The argument's text, or its default; empty: it is no text.
std::string TextOf(const Node& node, const std::string& name) {
  const ArgValue* value = nullptr;
  if (const auto arg = node.args.find(name); arg != node.args.end()) {
    value = &arg->second;
  } else if (const auto* entry = SchemaRegistry::Builtin().Find(node.op); entry != nullptr) {
    const auto spec = std::ranges::find(entry->spec.args, name, &ArgSpec::name);
    if (spec != entry->spec.args.end() && spec->default_value) value = &*spec->default_value;
  }
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? "" : *text;
}

}  // namespace

bool MakesIndices(const Node& node) {
  return node.op == "decode" && TextOf(node, "mode") == "index";
}

Status CheckOnIndices(const Node& node) {
  if (std::ranges::find(kMoving, node.op) != kMoving.end()) return {};
  if (std::ranges::find(kResampling, node.op) == kResampling.end()) {
    return Unsupported("has no native form for pictures that may have a palette");
  }
  const std::string mode = TextOf(node, "interpolation");
  if (mode == "nearest" || mode == "nearest-exact") return {};
  return Unsupported("pictures that may have a palette are resampled by the nearest pixel only");
}

}  // namespace headrace::ops
