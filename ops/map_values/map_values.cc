#include "ops/map_values/map_values.h"

#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"
#include "ops/vision/work.h"

namespace headrace::ops {
namespace {

class MapValuesKernel final : public ImageKernel {
 public:
  explicit MapValuesKernel(const MapValuesSchema& schema) : tables_(schema.tables()) {}

  // Each pixel comes from the same pixel.
  [[nodiscard]] Result<std::optional<Window>> InputWindow(const Request& request,
                                                          OpContext& /*context*/) const override {
    return std::optional(request.wanted);
  }
  Status Run(const Image& in, Params /*params*/, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    Work work(in.Part(in.held), memory, context.scratch(0));
    MapValues(work.Writable(), tables_);
    out->data = work.image().data;
    out->row_stride = work.image().row_stride;
    out->pixel_stride = work.image().pixel_stride;
    return Status::Ok();
  }

 private:
  const MapValuesSchema::Tables& tables_;  // the schema's, which outlives its kernels
};

}  // namespace

void RegisterKernelMapValues(KernelRegistry& registry) {
  registry.Add<MapValuesKernel, MapValuesSchema>("map_values");
}

}  // namespace headrace::ops
