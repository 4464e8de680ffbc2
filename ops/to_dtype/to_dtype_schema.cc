#include "ops/core/op_registry.h"
#include "ops/core/schema_util.h"
#include "ops/to_dtype/to_dtype.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  using Rule = ToDtypeSchema::Rule;
  HR_TRY(const DType dtype, ReadDType(args, "dtype"));
  const DType from = context.input.dtype;
  // v2.ToDtype lets PIL images through untouched.
  if (context.input.layout == Layout::kHwc || dtype == from) {
    return MakeSchema<ToDtypeSchema>(from, Rule::kKeep);
  }
  if (dtype != DType::kF32) return Unsupported("float to integer has no native form");
  return MakeSchema<ToDtypeSchema>(dtype, args.Bool("scale") ? Rule::kMultiply : Rule::kKeep);
}

}  // namespace

void RegisterSchemaToDtype(SchemaRegistry& registry) {
  registry.Add(
      {.name = "to_dtype",
       .doc = "Element type of a tensor; with scale, uint8 becomes float32 in 0..1 by multiplying "
              "with 1/255. PIL images pass unchanged.",
       .args = {{"dtype", ArgType::kText, std::nullopt, "uint8 or float32", /*required=*/true},
                {"scale", ArgType::kBool, std::int64_t{0}, "map the range of values too"}},
       .classes = {"v2.ToDtype"}},
      Make);
}

}  // namespace headrace::ops
