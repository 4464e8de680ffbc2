#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "ops/core/gate.h"
#include "ops/core/op_registry.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

// torchvision's RandomApply: a gate. Params: 1 if its nodes run, else 0.
class RandomApplySchema final : public GateSchema {
 public:
  // What a drawn number is to p where the nodes run.
  enum class When : std::uint8_t { kLess, kNotGreater, kGreater, kNotLess };
  // `cases`: in which they run, of equally likely ones; empty: p and when say it.
  RandomApplySchema(int nodes, double p, When when, bool from_python,
                    std::vector<std::int64_t> cases)
      : GateSchema({nodes}),
        p_(p),
        when_(when),
        from_python_(from_python),
        cases_(std::move(cases)) {}
  [[nodiscard]] int param_words() const override { return 1; }
  Status Draw(const TensorSpec& in, TorchGenerator& rng, MutableParams params,
              TensorSpec* out) const override {
    params[0] = Runs(rng.Rand(), static_cast<float>(p_)) ? 1 : 0;
    return Infer(in, out);
  }
  [[nodiscard]] bool draws_from_python() const override { return from_python_; }
  Status DrawFromPython(const TensorSpec& in, PythonGenerator& rng, MutableParams params,
                        TensorSpec* out) const override {
    const bool runs = cases_.empty()
                          ? Runs(rng.Random(), p_)
                          : cases_[rng.Below(static_cast<std::uint32_t>(cases_.size()))] != 0;
    params[0] = runs ? 1 : 0;
    return Infer(in, out);
  }
  Status Route(Params params, std::vector<int>* route) const override {
    if (params[0] != 0 && params[0] != 1) return InvalidArgument("it runs, or it does not");
    if (params[0] == 1) route->push_back(0);
    return Status::Ok();
  }

 private:
  template <typename Number>
  [[nodiscard]] bool Runs(Number drawn, Number p) const {
    switch (when_) {
      case When::kLess:
        return drawn < p;
      case When::kNotGreater:
        return drawn <= p;
      case When::kGreater:
        return drawn > p;
      case When::kNotLess:
        break;
    }
    return drawn >= p;
  }

  double p_;
  When when_;
  bool from_python_;
  std::vector<std::int64_t> cases_;
};

// v1 skips if p < torch.rand(1), v2 if torch.rand(1) >= p.
Result<RandomApplySchema::When> ReadWhen(const OpArgs& args) {
  using When = RandomApplySchema::When;
  HR_TRY(const int api, ReadApi(args));
  if (!args.Has("when")) return api == 1 ? When::kNotGreater : When::kLess;
  const std::string& when = args.Text("when");
  if (when == "lt") return When::kLess;
  if (when == "le") return When::kNotGreater;
  if (when == "gt") return When::kGreater;
  if (when == "ge") return When::kNotLess;
  return Unsupported("when " + when);
}

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& /*context*/) {
  HR_TRY(const RandomApplySchema::When when, ReadWhen(args));
  HR_TRY(const bool from_python, ReadFromPython(args));
  std::vector<std::int64_t> cases;
  if (args.Has("cases")) cases = args.Ints("cases");
  if (!cases.empty() && !from_python) return Unsupported("cases that torch's generator draws");
  if (std::isnan(args.Number("p"))) return Unsupported("a probability that is no number");
  const std::int64_t nodes = args.Int("nodes");
  if (nodes < 1 || nodes > GateSchema::kMostNodes)
    return Unsupported("a gate of no node, or of too many");
  return MakeSchema<RandomApplySchema>(static_cast<int>(nodes), args.Number("p"), when, from_python,
                                       std::move(cases));
}

}  // namespace

void RegisterSchemaRandomApply(SchemaRegistry& registry) {
  registry.Add(
      {.name = "random_apply",
       .doc =
           "Applies the nodes that follow it with probability p. Of PIL images and of "
           "tensors of uint8 or float32, where each node leaves their shape as it is, and maps no "
           "elements of float32.",
       .args = {{"p", ArgType::kNumber, 0.5, "probability"},
                ArgSpec{"nodes",
                        ArgType::kInt,
                        {},
                        "how many nodes it governs",
                        /*required=*/true,
                        /*only_pixels=*/true}
                    .In(1, GateSchema::kMostNodes),
                ArgSpec{"when", ArgType::kText, std::nullopt,
                        "lt, le, gt or ge: they run if torch.rand(1) is so to p as float32, or "
                        "random.random() to p; api says it when left out"}
                    .OneOf({"lt", "le", "gt", "ge"}),
                GeneratorArg(),
                {"cases", ArgType::kInts, std::nullopt,
                 "they run in those of 1, of equally likely ones of which Python's generator "
                 "draws one; p is of no account then"},
                ApiArg()},
       .classes = {"v1.RandomApply", "v2.RandomApply"},
       .draws = "torch: a number that is compared with p (rand); Python: the same (random)",
       .shares_draws = SharedDraws::kAnyKind},
      Make);
}

}  // namespace headrace::ops
