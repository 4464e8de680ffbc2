#include "ops/core/op_registry.h"
#include "ops/decode/decode.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& /*context*/) {
  if (args.Text("mode") != "RGB") return Unsupported("mode " + args.Text("mode"));
  return MakeSchema<DecodeSchema>();
}

}  // namespace

void RegisterSchemaDecode(SchemaRegistry& registry) {
  registry.Add(
      {.name = "decode",
       .doc =
           "An encoded JPEG or PNG file as a PIL RGB image: `Image.open(path).convert(\"RGB\")`. "
           "The first node of a chain over files.",
       .args = {{"mode", ArgType::kText, std::string("RGB"), "PIL mode that convert() is given"}},
       .classes = {"datasets.folder.pil_loader"}},
      Make);
}

}  // namespace headrace::ops
