#include "ops/timm_random_resized_crop/timm_random_resized_crop.h"

#include <utility>
#include <vector>

#include "ops/core/op_registry.h"
#include "ops/vision/fold/fold.h"
#include "ops/vision/resample/crop_resize.h"

namespace headrace::ops {
namespace {

class TimmRandomResizedCropKernel final : public ImageKernel {
 public:
  explicit TimmRandomResizedCropKernel(std::vector<CropResize> ways) : ways_(std::move(ways)) {}

  [[nodiscard]] Result<std::optional<Window>> InputWindow(const Request& request,
                                                          OpContext& context) const override {
    const Window crop = CropOf(request.params);
    const std::int32_t way = request.params[4];
    if (!IsInside(crop, request.in) || way < 0 || static_cast<std::size_t>(way) >= ways_.size()) {
      return InvalidArgument("parameters are of another image");
    }
    HR_TRY(const Window read,
           WayOf(request.params).InputWindow(crop, request.out, request.wanted, context));
    return std::optional(read);
  }

  Status Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    return WayOf(params).Run(CropOf(params), in, context, memory, out);
  }

 private:
  static Window CropOf(Params params) { return {params[0], params[1], params[2], params[3]}; }
  [[nodiscard]] const CropResize& WayOf(Params params) const {
    return ways_[static_cast<std::size_t>(params[4])];
  }

  std::vector<CropResize> ways_;
};

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& context) {
  std::vector<CropResize> ways;
  for (const Interpolation way : static_cast<const TimmRandomResizedCropSchema&>(schema).ways()) {
    ways.emplace_back(Resizing{.interpolation = way}, context.libraries->pillow);
  }
  return MakeKernel<TimmRandomResizedCropKernel>(std::move(ways));
}

}  // namespace

void RegisterKernelTimmRandomResizedCrop(KernelRegistry& registry) {
  registry.Add("timm_random_resized_crop", Make);
}

}  // namespace headrace::ops
