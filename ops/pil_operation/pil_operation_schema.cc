#include <cmath>
#include <string>
#include <string_view>

#include "ops/core/op_registry.h"
#include "ops/pil_operation/pil_operation.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

using Operation = PilOperationSchema::Operation;

struct Known {
  std::string_view name;
  Operation operation;
  bool has_factor;
};
constexpr Known kOperations[] = {
    {"autocontrast", Operation::kAutoContrast, false}, {"equalize", Operation::kEqualize, false},
    {"brightness", Operation::kBrightness, true},      {"color", Operation::kColor, true},
    {"contrast", Operation::kContrast, true},          {"sharpness", Operation::kSharpness, true},
    {"gaussian_blur", Operation::kGaussianBlur, true}};
constexpr double kMost = 1e6;
constexpr double kLargestBlur = 1000;

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsPilImage(context));
  const std::string& name = args.Text("operation");
  for (const Known& known : kOperations) {
    if (known.name != name) continue;
    if (args.Has("factor") != known.has_factor) {
      return InvalidArgument(name + (known.has_factor ? " needs a factor" : " has no factor"));
    }
    const double factor = known.has_factor ? args.Number("factor") : 1;
    if (!(std::abs(factor) <= kMost)) return Unsupported("factor is beyond a million");
    const bool blurs = known.operation == Operation::kGaussianBlur;
    if (blurs && !(static_cast<float>(factor) > 0 && factor <= kLargestBlur)) {
      return Unsupported("the radius of a blur is not above 0, or beyond 1,000");
    }
    return MakeSchema<PilOperationSchema>(
        PilOperationSchema::Options{known.operation, static_cast<float>(factor)});
  }
  return Unsupported("operation " + name + " has no native form");
}

}  // namespace

void RegisterSchemaPilOperation(SchemaRegistry& registry) {
  registry.Add(
      {.name = "pil_operation",
       .doc = "One operation of PIL's ImageOps, ImageEnhance or ImageFilter.",
       .args =
           {ArgSpec{
                "operation", ArgType::kText, std::nullopt,
                "autocontrast, equalize, brightness, color, contrast, sharpness or gaussian_blur",
                true}
                .OneOf({"autocontrast", "equalize", "brightness", "color", "contrast", "sharpness",
                        "gaussian_blur"}),
            ArgSpec{"factor", ArgType::kNumber, std::nullopt,
                    "of the last five; of gaussian_blur its radius in pixels, up to 1,000"}
                .In(-1e6, 1e6)},
       .classes = {"PIL.ImageOps.autocontrast", "PIL.ImageOps.equalize",
                   "PIL.ImageEnhance.Brightness", "PIL.ImageEnhance.Color",
                   "PIL.ImageEnhance.Contrast", "PIL.ImageEnhance.Sharpness",
                   "PIL.ImageFilter.GaussianBlur"}},
      Make);
}

}  // namespace headrace::ops
