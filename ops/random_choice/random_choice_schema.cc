#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "ops/core/gate.h"
#include "ops/core/op_registry.h"
#include "ops/core/schema_util.h"

namespace headrace::ops {
namespace {

// torchvision v1's RandomChoice: a gate. Params: the number of the part that runs. v2 draws by
// torch.multinomial, whose draws are MKL's.
class RandomChoiceSchema final : public GateSchema {
 public:
  RandomChoiceSchema(std::vector<int> parts, std::vector<double> cumulative)
      : GateSchema(std::move(parts)), cumulative_(std::move(cumulative)) {}
  [[nodiscard]] int param_words() const override { return 1; }
  [[nodiscard]] bool draws_from_python() const override { return true; }
  Status DrawFromPython(const TensorSpec& in, PythonGenerator& rng, MutableParams params,
                        TensorSpec* out) const override {
    params[0] = static_cast<std::int32_t>(rng.Choose(cumulative_));
    return Infer(in, out);
  }
  Status Route(Params params, std::vector<int>* route) const override {
    if (params[0] < 0 || static_cast<std::size_t>(params[0]) >= parts().size()) {
      return InvalidArgument("it chooses none of its parts");
    }
    route->push_back(params[0]);
    return Status::Ok();
  }

 private:
  std::vector<double> cumulative_;
};

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& /*context*/) {
  HR_TRY(std::vector<int> parts, ReadParts(args));
  HR_TRY(const bool from_python, ReadFromPython(args));
  if (!from_python) return Unsupported("a choice by torch's generator");
  std::vector<double> cumulative(parts.size());
  if (args.Has("weights")) {
    const std::vector<double> weights = args.Numbers("weights");
    if (weights.size() != parts.size()) {
      return InvalidArgument("The number of weights does not match the population");
    }
    if (!std::ranges::all_of(weights, [](double weight) { return weight >= 0; })) {
      return Unsupported("a weight below 0");  // what bisect then finds is by chance
    }
    std::partial_sum(weights.begin(), weights.end(), cumulative.begin());
  } else {
    std::iota(cumulative.begin(), cumulative.end(), 1.0);  // floor(random() * n) chooses the same
  }
  if (!std::isfinite(cumulative.back()) || cumulative.back() <= 0) {
    return InvalidArgument("Total of weights must be finite and greater than zero");
  }
  return MakeSchema<RandomChoiceSchema>(std::move(parts), std::move(cumulative));
}

}  // namespace

void RegisterSchemaRandomChoice(SchemaRegistry& registry) {
  registry.Add(
      {.name = "random_choice",
       .doc = "Applies one of the parts that follow it. Of PIL images and of tensors of "
              "uint8 or float32, where each part leaves their shape as it is, and maps no elements "
              "of float32.",
       .args = {PartsArg(),
                ArgSpec{"weights", ArgType::kNumbers, std::nullopt,
                        "of the parts; left out: all alike"}
                    .AtLeast(0),
                GeneratorArg()},
       .classes = {"v1.RandomChoice"},
       .draws = "Python: the part (choices)",
       .shares_draws = SharedDraws::kAnyKind},
      Make);
}

}  // namespace headrace::ops
