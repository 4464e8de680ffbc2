#include <cmath>
#include <string_view>
#include <utility>

#include "ops/core/op_registry.h"
#include "ops/random_operation/random_operation.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

using Operation = RandomOperationSchema::Operation;

struct Known {
  std::string_view name;
  Operation operation;
  double least, most;                // range of the value; two zeros: there is none
  double least_tensor, most_tensor;  // range for tensors
};
constexpr double kMost = 1e6;
constexpr Known kOperations[] = {{"invert", Operation::kInvert, 0, 0, 0, 0},
                                 {"posterize", Operation::kPosterize, 1, 8, 0, 8},
                                 {"solarize", Operation::kSolarize, -kMost, kMost, -kMost, 255},
                                 {"sharpness", Operation::kSharpness, -kMost, kMost, 0, kMost},
                                 {"autocontrast", Operation::kAutoContrast, 0, 0, 0, 0},
                                 {"equalize", Operation::kEqualize, 0, 0, 0, 0}};

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsBytes(context));
  RandomOperationSchema::Options options;
  options.tensor = context.input.layout == Layout::kChw;
  options.p = args.Number("p");
  HR_TRY(options.api, ReadApi(args));
  const std::string& name = args.Text("operation");
  for (const Known& known : kOperations) {
    if (known.name != name) continue;
    options.operation = known.operation;
    const bool has_value = known.least != known.most;
    if (args.Has("value") != has_value) {
      return InvalidArgument(name + (has_value ? " needs a value" : " has no value"));
    }
    if (!has_value) return MakeSchema<RandomOperationSchema>(options);
    options.value = args.Number("value");
    const double least = options.tensor ? known.least_tensor : known.least;
    const double most = options.tensor ? known.most_tensor : known.most;
    if (!(options.value >= least && options.value <= most)) {
      return Unsupported("the framework raises on this value of " + name);
    }
    if (options.api == 2 && name == "sharpness") HR_RETURN_IF_ERROR(NeedsKnownBytes(context));
    return MakeSchema<RandomOperationSchema>(options);
  }
  return Unsupported("operation " + name + " has no native form");
}

}  // namespace

Status RandomOperationSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng,
                                        MutableParams params, ImageSpec* out) const {
  // v1 compares the number as a Python float, v2 p as a float32.
  const bool happens =
      options_.api == 1 ? static_cast<double>(rng.Rand()) < options_.p : Happens(rng, options_.p);
  params[0] = happens ? 1 : 0;
  return Shape(in, out);
}

void RegisterSchemaRandomOperation(SchemaRegistry& registry) {
  registry.Add(
      {.name = "random_operation",
       .doc = "One operation of a PIL image or a tensor of uint8, with probability p.",
       .args = {{"operation", ArgType::kText, std::nullopt,
                 "invert, posterize, solarize, sharpness, autocontrast or equalize", true},
                {"p", ArgType::kNumber, 0.5, "probability"},
                {"value", ArgType::kNumber, std::nullopt,
                 "the bits that posterize keeps, 1..8 (of tensors 0..8); solarize's threshold; the "
                 "factor of "
                 "sharpness"},
                ApiArg()},
       .classes = {"v1.RandomInvert", "v2.RandomInvert", "v1.RandomPosterize", "v2.RandomPosterize",
                   "v1.RandomSolarize", "v2.RandomSolarize", "v1.RandomAdjustSharpness",
                   "v2.RandomAdjustSharpness", "v1.RandomAutocontrast", "v2.RandomAutocontrast",
                   "v1.RandomEqualize", "v2.RandomEqualize"}},
      Make);
}

}  // namespace headrace::ops
