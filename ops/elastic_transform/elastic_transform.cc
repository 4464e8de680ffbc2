#include "ops/elastic_transform/elastic_transform.h"

#include "ops/core/op_registry.h"
#include "ops/core/schema_kernel.h"
#include "ops/vision/tensor/elastic_field.h"
#include "ops/vision/tensor/float_ops.h"
#include "ops/vision/tensor/grid_sample.h"
#include "ops/vision/work.h"

namespace headrace::ops {
namespace {

class ElasticTransformKernel final : public SchemaKernel<FloatKernel, ElasticTransformSchema> {
 public:
  using SchemaKernel::SchemaKernel;

  Status Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    const ElasticTransformSchema::Options& options = schema_.options();
    HR_TRY(const Mt19937 random, ElasticTransformSchema::Read(params));
    HR_TRY(const GridField field, MakeElasticField(in.spec, random, AxisOf(options.across),
                                                   AxisOf(options.down), context));
    if (in.spec.dtype == DType::kF32) {
      const FloatPixels made = MakeFloats(in.spec, memory);
      made.Show(out);
      return FloatElastic(in, field, options.pixels, options.api, made);
    }
    Work work(in, memory, context.scratch(0));
    (void)work.Writable();  // packed
    work.Replace([&](std::uint8_t* pixels) {
      TensorElastic(work.image(), field, options.pixels, options.api, pixels);
    });
    out->data = work.image().data;
    out->pixel_stride = work.image().pixel_stride;
    out->row_stride = work.image().row_stride;
    return Status::Ok();
  }

 private:
  static ElasticAxis AxisOf(const ElasticTransformSchema::Axis& axis) {
    return {.alpha = axis.alpha, .weights = {.x = axis.columns, .y = axis.rows}};
  }
};

}  // namespace

void RegisterKernelElasticTransform(KernelRegistry& registry) {
  registry.Add<ElasticTransformKernel, ElasticTransformSchema>("elastic_transform");
}

}  // namespace headrace::ops
