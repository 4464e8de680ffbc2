#include <string>

#include "ops/core/op_registry.h"
#include "ops/decode/decode.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& /*context*/) {
  const std::string& mode = args.Text("mode");
  const std::string& library = args.Text("library");
  const bool of_tensors = library == "torchvision.io";
  if (!of_tensors && library != "PIL") return Unsupported("library " + library);
  if (of_tensors && mode == "UNCHANGED") return MakeSchema<DecodeSchema>(DecodeAs::kUnchanged);
  if (!of_tensors && mode == "L") return MakeSchema<DecodeSchema>(DecodeAs::kLuma);
  if (!of_tensors && mode == "index") return MakeSchema<DecodeSchema>(DecodeAs::kIndex);
  if (mode != "RGB") return Unsupported("mode " + mode);
  return MakeSchema<DecodeSchema>(of_tensors ? DecodeAs::kRgb : DecodeAs::kPil);
}

}  // namespace

void RegisterSchemaDecode(SchemaRegistry& registry) {
  registry.Add(
      {.name = "decode",
       .doc =
           "An encoded JPEG or PNG file as a PIL RGB image: `Image.open(path).convert(\"RGB\")`. "
           "With torchvision.io as library the pixels of a JPEG file as `decode_image(path, mode)` "
           "makes them; other files are made by the trainer. The first node of a chain over "
           "files. With mode index the picture is as the file has it, which is a mask's gray or "
           "its indices: files that PIL opens in another mode than L or P are made by the trainer.",
       .args = {ArgSpec{"mode", ArgType::kText, std::string("RGB"),
                        "PIL mode that convert() is given: RGB or L; index for no convert(); or "
                        "torchvision's: RGB or, of files in colour alone, UNCHANGED"}
                    .OneOf({"RGB", "L", "index", "UNCHANGED"}),
                ArgSpec{"library", ArgType::kText, std::string("PIL"), "PIL or torchvision.io"}
                    .OneOf({"PIL", "torchvision.io"}),
                ArgSpec{"file", ArgType::kInt, std::int64_t{0},
                        "which of the sample's files, where it has several (source file_groups)"}
                    .In(0, 15)},
       .classes = {"datasets.folder.pil_loader", "io.read_image", "io.decode_image",
                   "io.decode_jpeg"}},
      Make);
}

}  // namespace headrace::ops
