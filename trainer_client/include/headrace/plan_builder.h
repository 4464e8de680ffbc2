#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/export.h"
#include "base/graph.h"
#include "base/result.h"
#include "headrace/client.h"
#include "headrace/plan_source.h"

// Plans of native operators, composed in C++. `headrace operators` and docs/reference/operators.md list
// the operators with their arguments.
//
//   HR_TRY(PlanSource source, ImageFolderSource("/data/train"));
//   HR_TRY(BuiltPlan built, PlanBuilder(std::move(source))
//       .Then("decode")
//       .Then("random_resized_crop", {{"size", 224}})
//       .Then("random_horizontal_flip")
//       .Then("to_tensor")
//       .Then("normalize", {{"mean", {0.485, 0.456, 0.406}}, {"std", {0.229, 0.224, 0.225}}})
//       .Field()
//       .LabelField()
//       .Random(RngMode::kSample)
//       .Build());
//   auto session = client->OpenSession(built.plan, built.blobs, options);
namespace headrace {

// What a step makes of a sample. Made by PlanBuilder::value().
struct StepValue {
  std::int32_t step = -1;  // counted from 0
  friend bool operator==(const StepValue&, const StepValue&) = default;
};

// The value of an argument: a number, a text, or a list of numbers.
class Arg {
 public:
  Arg(std::integral auto number) : value(static_cast<std::int64_t>(number)) {}  // NOLINT: implicit
  Arg(std::floating_point auto number) : value(static_cast<double>(number)) {}  // NOLINT: implicit
  Arg(const char* text) : value(std::string(text)) {}                           // NOLINT: implicit
  Arg(std::string text) : value(std::move(text)) {}                             // NOLINT: implicit
  Arg(ArgValue any) : value(std::move(any)) {}                                  // NOLINT: implicit
  Arg(StepValue of) : value(std::int64_t{of.step}) {}                           // NOLINT: implicit
  Arg(std::vector<std::int64_t> list) : value(std::move(list)) {}               // NOLINT: implicit
  Arg(std::vector<double> list) : value(std::move(list)) {}                     // NOLINT: implicit
  template <std::integral T>
  Arg(std::initializer_list<T> list)  // NOLINT: implicit
      : value(std::vector<std::int64_t>(list.begin(), list.end())) {}
  template <std::floating_point T>
  Arg(std::initializer_list<T> list)  // NOLINT: implicit
      : value(std::vector<double>(list.begin(), list.end())) {}

  ArgValue value;
};
using StepArgs = std::vector<std::pair<std::string, Arg>>;

// What Client::OpenSession needs, and what the trainer wants to know.
struct BuiltPlan {
  Plan plan;
  std::map<BlobHash, Blob> blobs;
  std::vector<std::string> classes;  // of the source
  std::int64_t samples = 0;          // keys of batches are 0 .. samples - 1
};

// Composes a plan step by step. A step takes the value of the step before it, unless From says otherwise;
// the first one takes the sample. Steps draw in the order in which they are added.
//
// No call fails: the first mistake is kept, and what is called later changes nothing. status() and Build()
// return it. It names the step, and the argument with what it may be. Thread-compatible.
// Methods: one for each part of a plan.
class HEADRACE_PUBLIC PlanBuilder {
 public:
  explicit PlanBuilder(PlanSource source);
  ~PlanBuilder();
  PlanBuilder(const PlanBuilder&);
  PlanBuilder& operator=(const PlanBuilder&);
  PlanBuilder(PlanBuilder&&) noexcept;
  PlanBuilder& operator=(PlanBuilder&&) noexcept;

  // Adds a step: a registered operator, or "squeeze" (a tensor [1, H, W] becomes [H, W]; last). A step
  // with the argument "draws_of", a StepValue, draws nothing and uses what that step has drawn. Mistakes,
  // all kInvalidArgument: no such operator, an argument that it does not have, one that is missing, given
  // twice, of another type or out of its range. What only the whole plan shows, Build finds.
  PlanBuilder& Then(const std::string& op, const StepArgs& args = {});
  // Adds a step that puts values of one shape [...] and type into one tensor [N, ...], as FiveCrop and
  // torch.stack do. Only as a field.
  PlanBuilder& Stack(const std::vector<StepValue>& values);
  // The next step takes this value. kInvalidArgument: no such step.
  PlanBuilder& From(StepValue value);
  // The next step takes the sample itself: another picture of it, or the same one decoded otherwise.
  PlanBuilder& FromSample();
  // The value of the last step, to go on from later. Step -1 before the first one.
  [[nodiscard]] StepValue value() const;

  // The value before is the next field of a batch, a tensor [B, ...]. kInvalidArgument: there is no step.
  PlanBuilder& Field();
  // The same as a list of tensors, for values whose shapes differ from sample to sample.
  PlanBuilder& ListField();
  // The label is the next field: int64 [B]. Of sources of pictures. kInvalidArgument: another source.
  PlanBuilder& LabelField();
  // Array `index` of the source is the next field, [B, row_shape...]. kInvalidArgument: no such array.
  PlanBuilder& ArrayField(int index);

  // Key i of a batch is the source's row rows[i], for subsets and other orders. kInvalidArgument: there
  // is none, or one beyond the source. Bytes: 8 a row, which travel to the workers.
  PlanBuilder& Rows(std::vector<std::int64_t> rows);
  // Where random numbers come from. kSample: each sample's depend on (base seed, key, occurrence) alone.
  // kTorch: the numbers of a PyTorch DataLoader with `lanes` workers, 1..65536. Build makes it kNone
  // where no step draws. The usual: kSample, 1 lane. kInvalidArgument: kNone, or lanes out of range.
  PlanBuilder& Random(RngMode mode, std::int32_t lanes = 1);
  // The versions whose bits the workers make. The usual: Pillow 13.0.0, torch 2.13.0, torchvision 0.28.0,
  // AVX2.
  PlanBuilder& Libraries(ClientLibraries libraries);
  // The exp of float32 of the torch whose crops shall be the same, such as LibTorch's: fills `out` of the
  // same size. Build calls it for 2^24 numbers, in pieces, for each range of ratios that a step has
  // (random_resized_crop, random_erasing). The usual: rounded correctly, which few crops show.
  using Exp = std::function<Status(std::span<const float> in, std::span<float> out)>;
  PlanBuilder& TorchExp(Exp exp);
  // For people, in lists of jobs. The usual: the source's name.
  PlanBuilder& Name(std::string name);

  // The first mistake so far.
  [[nodiscard]] Status status() const;
  // The plan. kInvalidArgument: a mistake; arguments that do not fit each other or what the step is given;
  // a step whose value nobody takes; no field. kUnsupported: the operators have no native form together.
  [[nodiscard]] Result<BuiltPlan> Build() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace headrace
