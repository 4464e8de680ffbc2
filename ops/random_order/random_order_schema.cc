#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "ops/core/gate.h"
#include "ops/core/op_registry.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

// torchvision's RandomOrder: a gate. Params: the numbers of its parts, in the order in which they
// run. v1 shuffles with Python's generator.
class RandomOrderSchema final : public GateSchema {
 public:
  RandomOrderSchema(std::vector<int> parts, bool from_python)
      : GateSchema(std::move(parts)), from_python_(from_python) {}
  [[nodiscard]] int param_words() const override { return static_cast<int>(parts().size()); }
  Status Draw(const TensorSpec& in, TorchGenerator& rng, MutableParams params,
              TensorSpec* out) const override {
    std::vector<std::int64_t> order(parts().size());
    rng.RandPerm(order);
    std::ranges::copy(order, params.begin());
    return Infer(in, out);
  }
  [[nodiscard]] bool draws_from_python() const override { return from_python_; }
  Status DrawFromPython(const TensorSpec& in, PythonGenerator& rng, MutableParams params,
                        TensorSpec* out) const override {
    std::vector<std::int64_t> order(parts().size());
    std::iota(order.begin(), order.end(), 0);
    rng.Shuffle(order);
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

 private:
  bool from_python_;
};

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& /*context*/) {
  HR_TRY(std::vector<int> parts, ReadParts(args));
  HR_TRY(const bool from_python, ReadFromPython(args));
  return MakeSchema<RandomOrderSchema>(std::move(parts), from_python);
}

}  // namespace

void RegisterSchemaRandomOrder(SchemaRegistry& registry) {
  registry.Add(
      {.name = "random_order",
       .doc = "Applies the parts that follow it in a drawn order. Of PIL images and of "
              "tensors of uint8 or float32, where each part leaves their shape as it is, and "
              "maps no elements of float32.",
       .args = {PartsArg(), GeneratorArg()},
       .classes = {"v1.RandomOrder", "v2.RandomOrder"},
       .draws = "torch: the order (randperm); Python: the order (shuffle)",
       .shares_draws = SharedDraws::kAnyKind},
      Make);
}

}  // namespace headrace::ops
