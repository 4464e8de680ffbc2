#include <algorithm>
#include <vector>

#include "ops/core/gate.h"
#include "ops/core/op_registry.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

// torchvision v2's RandomOrder: a gate. Params: the numbers of its parts, in the order in which they
// run. v1 shuffles with Python's generator, which is not torch's.
class RandomOrderSchema final : public GateSchema {
 public:
  using GateSchema::GateSchema;
  [[nodiscard]] int param_words() const override { return static_cast<int>(parts().size()); }
  Status Draw(const TensorSpec& in, TorchGenerator& rng, MutableParams params,
              TensorSpec* out) const override {
    std::vector<std::int64_t> order(parts().size());
    rng.RandPerm(order);
    std::ranges::copy(order, params.begin());
    return Infer(in, out);
  }
  Status Route(Params params, std::vector<int>* route) const override {
    std::vector<bool> seen(params.size());
    for (const std::int32_t part : params) {
      if (part < 0 || static_cast<std::size_t>(part) >= seen.size() ||
          seen[static_cast<std::size_t>(part)]) {
        return InvalidArgument("its order is no permutation");
      }
      seen[static_cast<std::size_t>(part)] = true;
      route->push_back(part);
    }
    return Status::Ok();
  }
};

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& /*context*/) {
  std::vector<int> parts;
  std::int64_t all = 0;
  for (const std::int64_t nodes : args.Ints("parts")) {
    all += nodes;
    if (nodes < 1 || nodes > GateSchema::kMostNodes || all > GateSchema::kMostNodes) {
      return Unsupported("a gate of no node, or of too many");
    }
    parts.push_back(static_cast<int>(nodes));
  }
  if (parts.empty()) return Unsupported("a gate of no node, or of too many");
  return MakeSchema<RandomOrderSchema>(std::move(parts));
}

}  // namespace

void RegisterSchemaRandomOrder(SchemaRegistry& registry) {
  registry.Add({.name = "random_order",
                .doc = "Applies the parts that follow it in a drawn order. Of PIL images and of "
                       "tensors of uint8, where each part leaves their shape as it is.",
                .args = {{"parts",
                          ArgType::kInts,
                          {},
                          "how many nodes each part has",
                          /*required=*/true,
                          /*only_pixels=*/true}},
                .classes = {"v2.RandomOrder"},
                .shares_draws = SharedDraws::kAnyKind},
               Make);
}

}  // namespace headrace::ops
