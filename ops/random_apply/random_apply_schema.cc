#include "ops/core/gate.h"
#include "ops/core/op_registry.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

// torchvision's RandomApply: a gate. Params: 1 if its nodes run, else 0.
class RandomApplySchema final : public GateSchema {
 public:
  RandomApplySchema(int nodes, double p, int api) : GateSchema({nodes}), p_(p), api_(api) {}
  [[nodiscard]] int param_words() const override { return 1; }
  Status Draw(const TensorSpec& in, TorchGenerator& rng, MutableParams params,
              TensorSpec* out) const override {
    // v1 skips if p < torch.rand(1), v2 if torch.rand(1) >= p.
    const auto p = static_cast<float>(p_);
    const float drawn = rng.Rand();
    params[0] = (api_ == 1 ? !(p < drawn) : !(drawn >= p)) ? 1 : 0;
    return Infer(in, out);
  }
  Status Route(Params params, std::vector<int>* route) const override {
    if (params[0] != 0 && params[0] != 1) return InvalidArgument("it runs, or it does not");
    if (params[0] == 1) route->push_back(0);
    return Status::Ok();
  }

 private:
  double p_;
  int api_;
};

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& /*context*/) {
  HR_TRY(const int api, ReadApi(args));
  const std::int64_t nodes = args.Int("nodes");
  if (nodes < 1 || nodes > GateSchema::kMostNodes)
    return Unsupported("a gate of no node, or of too many");
  return MakeSchema<RandomApplySchema>(static_cast<int>(nodes), args.Number("p"), api);
}

}  // namespace

void RegisterSchemaRandomApply(SchemaRegistry& registry) {
  registry.Add({.name = "random_apply",
                .doc = "Applies the nodes that follow it with probability p. Of PIL images and of "
                       "tensors of uint8, where each node leaves their shape as it is.",
                .args = {{"p", ArgType::kNumber, 0.5, "probability"},
                         {"nodes",
                          ArgType::kInt,
                          {},
                          "how many nodes it governs",
                          /*required=*/true,
                          /*only_pixels=*/true},
                         ApiArg()},
                .classes = {"v1.RandomApply", "v2.RandomApply"},
                .shares_draws = true},
               Make);
}

}  // namespace headrace::ops
