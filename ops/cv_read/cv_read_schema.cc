#include "ops/core/op_registry.h"
#include "ops/cv_read/cv_read.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& /*context*/) {
  using Order = CvReadSchema::Order;
  const std::string& channels = args.Text("channels");
  const bool ignores = args.Bool("ignore_orientation");
  if (channels == "BGR") return MakeSchema<CvReadSchema>(Order::kBgr, ignores);
  if (channels == "RGB") return MakeSchema<CvReadSchema>(Order::kRgb, ignores);
  if (channels == "GRAY") return MakeSchema<CvReadSchema>(Order::kGray, ignores);
  return Unsupported("channels " + channels);
}

}  // namespace

void RegisterSchemaCvRead(SchemaRegistry& registry) {
  registry.Add(
      {.name = "cv_read",
       .doc = "An encoded JPEG or PNG file as OpenCV reads it: `cv2.imread(path)`. The first node "
              "of a chain over files. Files that OpenCV turns, or converts in its own way, are "
              "left to the program.",
       .args = {ArgSpec{"channels", ArgType::kText, std::string("BGR"),
                        "BGR (IMREAD_COLOR), RGB (IMREAD_COLOR_RGB) or GRAY (IMREAD_GRAYSCALE)"}
                    .OneOf({"BGR", "RGB", "GRAY"}),
                {"ignore_orientation", ArgType::kBool, std::int64_t{0},
                 "take files that Exif turns as they are (IMREAD_IGNORE_ORIENTATION)"}},
       .classes = {"cv2.imread"}},
      Make);
}

}  // namespace headrace::ops
