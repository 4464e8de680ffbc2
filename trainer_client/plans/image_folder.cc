#include "headrace/image_folder.h"

#include <utility>

#include "headrace/plan_builder.h"
#include "headrace/plan_source.h"

namespace headrace {

Result<ImageFolder> OpenImageFolder(const std::string& root, const ImageFolderOptions& options) {
  HR_TRY(PlanSource source, ImageFolderSource(root));
  const std::int64_t side = options.image_size;
  PlanBuilder builder(std::move(source));
  builder.Then("decode");
  if (options.train) {
    builder.Then("random_resized_crop", {{"size", {side, side}}}).Then("random_horizontal_flip");
    builder.Random(options.rng, options.lanes);
  } else {
    builder.Then("resize", {{"size", {options.short_side}}})
        .Then("center_crop", {{"size", {side, side}}});
    builder.Random(RngMode::kSample, options.lanes);
  }
  builder.Then("to_tensor")
      .Then("normalize", {{"mean", std::vector<double>(options.mean.begin(), options.mean.end())},
                          {"std", std::vector<double>(options.std.begin(), options.std.end())}})
      .Field()
      .LabelField();
  HR_TRY(BuiltPlan built, builder.Build());
  return ImageFolder{std::move(built.classes), built.samples, std::move(built.plan),
                     std::move(built.blobs)};
}

}  // namespace headrace
