#include <cmath>
#include <string_view>
#include <utility>

#include "ops/core/op_registry.h"
#include "ops/random_operation/random_operation.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

using Operation = RandomOperationSchema::Operation;

// torchvision raises on larger thresholds of float32.
constexpr double kMostOfFloats = 1;

// Operations on float32, of which both versions have some.
Status TakesFloats(Operation operation, int api, double value) {
  switch (operation) {
    case Operation::kInvert:
    case Operation::kAutoContrast:
    case Operation::kSharpness:
      return {};
    case Operation::kSolarize:
      if (value <= kMostOfFloats) return {};
      break;
    case Operation::kPosterize:
      if (api == 2) return {};
      break;
    case Operation::kEqualize:
      return Unsupported("has a native form for PIL images and tensors of uint8 only");
  }
  return Unsupported("the framework raises on a tensor of float32");
}

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
  const bool floats = context.input.dtype == DType::kF32;
  HR_RETURN_IF_ERROR(floats ? NeedsKnownElements(args, context) : NeedsBytes(context));
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
    if (has_value) options.value = args.Number("value");
    if (floats) HR_RETURN_IF_ERROR(TakesFloats(known.operation, options.api, options.value));
    if (!has_value) return MakeSchema<RandomOperationSchema>(options);
    const double least = options.tensor ? known.least_tensor : known.least;
    const double most = options.tensor ? known.most_tensor : known.most;
    if (!(options.value >= least && options.value <= most)) {
      return Unsupported("the framework raises on this value of " + name);
    }
    // torch takes a whole number below 0 for a byte: -1 is 255. A plan does not tell -1 from -1.0.
    if (!floats && options.tensor && known.operation == Operation::kSolarize && options.value < 0) {
      return Unsupported("a threshold below 0 has no native form for tensors of uint8");
    }
    if (!floats && options.api == 2 && name == "sharpness") {
      HR_RETURN_IF_ERROR(NeedsKnownBytes(context));
    }
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
       .doc =
           "One operation of a PIL image or a tensor of uint8, with probability p; of a tensor of "
           "float32 invert, solarize, sharpness, autocontrast, and posterize of v2.",
       .args =
           {ArgSpec{"operation", ArgType::kText, std::nullopt,
                    "invert, posterize, solarize, sharpness, autocontrast or equalize", true}
                .OneOf(
                    {"invert", "posterize", "solarize", "sharpness", "autocontrast", "equalize"}),
            {"p", ArgType::kNumber, 0.5, "probability"},
            ArgSpec{
                "value", ArgType::kNumber, std::nullopt,
                "the bits that posterize keeps, 1..8 (of tensors 0..8); solarize's threshold; the "
                "factor of "
                "sharpness"}
                .In(-1e6, 1e6),
            ApiArg(),
            FloatsArg()},
       .classes = {"v1.RandomInvert", "v2.RandomInvert", "v1.RandomPosterize", "v2.RandomPosterize",
                   "v1.RandomSolarize", "v2.RandomSolarize", "v1.RandomAdjustSharpness",
                   "v2.RandomAdjustSharpness", "v1.RandomAutocontrast", "v2.RandomAutocontrast",
                   "v1.RandomEqualize", "v2.RandomEqualize"},
       .draws = "torch: a number that is compared with p (rand)"},
      Make);
}

}  // namespace headrace::ops
