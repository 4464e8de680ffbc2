#include "headrace/plan_builder.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <variant>

#include "base/plan_files.h"
#include "ops/core/graph.h"
#include "ops/core/op_registry.h"
#include "ops/core/shared_draws.h"
#include "ops/torch/torch_exp.h"
#include "trainer_client/plans/plan_blobs.h"

namespace headrace {
namespace {

constexpr const char* kStackStep = "stack";
constexpr const char* kSqueezeStep = "squeeze";
constexpr std::int32_t kMostLanes = 65536;

std::string StepName(std::size_t number, const std::string& op) {
  return "step " + std::to_string(number) + " " + op;
}

// Writes numbers as capture does, so that equal pipelines are equal plans and share what is cached.
ArgValue InSpecsType(const ArgValue& value, ops::ArgType type) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    const bool number = type == ops::ArgType::kNumber || type == ops::ArgType::kNumbers;
    return number ? ArgValue(static_cast<double>(*whole)) : value;
  }
  const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
  if (list == nullptr || type != ops::ArgType::kNumbers) return value;
  return std::vector<double>(list->begin(), list->end());
}

std::string NamesOf(const ops::OpSpec& spec) {
  std::string names;
  for (const ops::ArgSpec& arg : spec.args) names += (names.empty() ? "" : ", ") + arg.name;
  return names.empty() ? "it has none" : "it has " + names;
}

// `step`: the number of the step.
Status CheckDrawsOf(const ArgValue& value, std::size_t step) {
  const auto* of = std::get_if<std::int64_t>(&value);
  if (of != nullptr && *of >= 0 && static_cast<std::uint64_t>(*of) < step) return {};
  return InvalidArgument("argument draws_of is " + ops::ShowValue(value) +
                         ", and may be the value of an earlier step");
}

Result<Args> CheckArgs(const ops::OpSpec& spec, const StepArgs& given, std::size_t step) {
  Args args;
  for (const auto& [name, arg] : given) {
    if (args.contains(name)) return InvalidArgument("argument " + name + " is given twice");
    if (name == ops::kDrawsOf) {
      HR_RETURN_IF_ERROR(CheckDrawsOf(arg.value, step));
      args[name] = arg.value;
      continue;
    }
    const auto known = std::ranges::find(spec.args, name, &ops::ArgSpec::name);
    if (known == spec.args.end()) {
      return InvalidArgument("there is no argument " + name + "; " + NamesOf(spec));
    }
    HR_RETURN_IF_ERROR(ops::CheckLimits(*known, arg.value));
    args[name] = InSpecsType(arg.value, known->type);
  }
  for (const ops::ArgSpec& arg : spec.args) {
    if (!arg.required || args.contains(arg.name)) continue;
    return InvalidArgument("argument " + arg.name + " is missing: " + arg.doc + " (" +
                           ops::LimitsText(arg) + ")");
  }
  return args;
}

// "node 2 resize: why" as the builder's callers know it.
Status OfStep(const Status& status) {
  constexpr std::string_view kNode = "node ";
  const std::string& message = status.message();
  if (status.ok() || !message.starts_with(kNode)) return status;
  return {status.code(), "step " + message.substr(kNode.size()), status.detail()};
}

Status PlainExp(std::span<const float> in, std::span<float> out) {
  std::ranges::transform(in, out.begin(), ops::ExpFloat);
  return Status::Ok();
}

bool IsOfArrays(const PlanSource& source) { return !source.leaves.front().arrays.empty(); }

// The first steps take what the source has: files, or rows of arrays.
Status CheckFirst(const ops::Graph& graph, const PlanSource& source) {
  const bool takes_arrays = graph.source().layout == Layout::kPlain;
  if (takes_arrays == IsOfArrays(source)) return {};
  return InvalidArgument(takes_arrays ? "step 0 takes rows of arrays, and the source has files"
                                      : "step 0 takes files, and the source has rows of arrays");
}

}  // namespace

struct PlanBuilder::Parts {
  PlanSource source;
  Status mistake;
  std::vector<Node> steps;
  std::int32_t current = Node::kSource;  // what the next step takes
  std::vector<FieldSpec> fields;
  std::optional<std::vector<std::int64_t>> rows;
  RngMode rng = RngMode::kSample;
  std::int32_t lanes = 1;
  ClientLibraries libraries{"13.0.0", "2.13.0", "0.28.0", "AVX2"};
  Exp exp = PlainExp;
  std::string name;

  [[nodiscard]] std::int32_t next() const { return static_cast<std::int32_t>(steps.size()); }
  void Add(Node node, std::vector<std::int32_t> inputs) {
    if (inputs != std::vector{next() - 1}) node.inputs = std::move(inputs);
    node.label = node.op;
    current = next();
    steps.push_back(std::move(node));
  }
  void Fail(Status status) {
    if (mistake.ok()) mistake = std::move(status);
  }
  void AddField(FieldSpec::Kind kind) {
    if (current < 0) return Fail(InvalidArgument("a field of no step: Then comes before Field"));
    fields.push_back({kind, current});
  }
  [[nodiscard]] Result<Plan> Shape() const;
  Status AddDraws(const ops::Graph& graph, BuiltPlan& built) const;
};

// The plan without what only the compiled graph knows.
Result<Plan> PlanBuilder::Parts::Shape() const {
  Plan plan;
  plan.name = name.empty() ? source.name : name;
  plan.leaves = source.leaves;
  plan.chain = steps;
  plan.fields = fields;
  plan.lanes = lanes;
  plan.libraries = libraries;
  if (fields.empty()) return InvalidArgument("a plan of no fields: Field or LabelField adds one");
  std::vector<FieldSpec*> made;
  for (FieldSpec& field : plan.fields) {
    if (field.kind != FieldSpec::Kind::kArray) made.push_back(&field);
  }
  if (made.empty() && !steps.empty()) {
    return InvalidArgument(StepName(0, steps[0].op) + ": no field is made of its value");
  }
  // A single chain says so: workers of every release know it.
  const bool branches =
      std::ranges::any_of(steps, [](const Node& node) { return !node.inputs.empty(); });
  if (!branches && made.size() == 1 && *made[0] == FieldSpec{FieldSpec::Kind::kValue, next() - 1} &&
      steps.back().op != kStackStep && steps.back().op != kSqueezeStep) {
    *made[0] = FieldSpec{FieldSpec::Kind::kChain, 0};
  }
  return plan;
}

// Notes which steps draw, and adds the constant that draws need.
Status PlanBuilder::Parts::AddDraws(const ops::Graph& graph, BuiltPlan& built) const {
  bool draws = false;
  for (std::size_t c = 0; c < graph.chains(); ++c) {
    const ops::Chain& chain = graph.chain(c);
    for (int i = 0; i < static_cast<int>(chain.nodes().size()); ++i) {
      const Purity purity = chain.schema(i).purity();
      built.plan.chain[static_cast<std::size_t>(chain.number(i))].purity = purity;
      draws |= purity == Purity::kRandom;
    }
  }
  built.plan.rng = draws ? rng : RngMode::kNone;
  std::vector<ops::ExpRange> ranges = graph.exp_ranges();
  if (ranges.empty()) return {};
  // In the order of capture, so that equal pipelines have equal constants.
  std::ranges::sort(ranges, {}, [](const ops::ExpRange& range) {
    return std::tuple(range.low, range.high, range.rounding);
  });
  HR_TRY(Bytes table, ops::BuildTorchExpTable(ranges, exp));
  built.plan.constants[std::string(ops::kTorchExp)] =
      client::AddBlob(std::move(table), built.blobs);
  return {};
}

PlanBuilder::PlanBuilder(PlanSource source) : parts_(std::make_unique<Parts>()) {
  if (source.leaves.empty() || source.samples() < 1) {
    parts_->Fail(InvalidArgument("a source of no samples"));
  }
  parts_->source = std::move(source);
}
PlanBuilder::~PlanBuilder() = default;
PlanBuilder::PlanBuilder(const PlanBuilder& other)
    : parts_(std::make_unique<Parts>(*other.parts_)) {}
PlanBuilder& PlanBuilder::operator=(const PlanBuilder& other) {
  if (this != &other) parts_ = std::make_unique<Parts>(*other.parts_);
  return *this;
}
PlanBuilder::PlanBuilder(PlanBuilder&&) noexcept = default;
PlanBuilder& PlanBuilder::operator=(PlanBuilder&&) noexcept = default;

PlanBuilder& PlanBuilder::Then(const std::string& op, const StepArgs& args) {
  if (!parts_->mistake.ok()) return *this;
  const std::string name = StepName(parts_->steps.size(), op);
  Node node;
  node.op = op;
  if (op == kSqueezeStep) {
    if (!args.empty()) parts_->Fail(InvalidArgument(name + ": it has no arguments"));
    parts_->Add(std::move(node), {parts_->current});
    return *this;
  }
  const ops::SchemaRegistry::Entry* entry = ops::SchemaRegistry::Builtin().Find(op);
  if (entry == nullptr) {
    const char* what = op == kStackStep
                           ? ": Stack adds it"
                           : ": there is no such operator; `headrace operators` lists them";
    parts_->Fail(InvalidArgument(name + what));
    return *this;
  }
  Result<Args> checked = CheckArgs(entry->spec, args, parts_->steps.size());
  if (!checked.ok()) {
    parts_->Fail(checked.status().WithContext(name));
    return *this;
  }
  node.args = std::move(checked).value();
  parts_->Add(std::move(node), {parts_->current});
  return *this;
}

PlanBuilder& PlanBuilder::Stack(const std::vector<StepValue>& values) {
  if (!parts_->mistake.ok()) return *this;
  std::vector<std::int32_t> inputs;
  for (const StepValue value : values) inputs.push_back(value.step);
  const auto wrong = [&](std::int32_t step) { return step < 0 || step >= parts_->next(); };
  if (inputs.empty() || std::ranges::any_of(inputs, wrong)) {
    parts_->Fail(InvalidArgument(StepName(parts_->steps.size(), kStackStep) +
                                 ": values may be those of earlier steps, one or more"));
    return *this;
  }
  Node node;
  node.op = kStackStep;
  parts_->Add(std::move(node), std::move(inputs));
  return *this;
}

PlanBuilder& PlanBuilder::From(StepValue value) {
  if (!parts_->mistake.ok()) return *this;
  if (value.step < 0 || value.step >= parts_->next()) {
    parts_->Fail(InvalidArgument("From the value of step " + std::to_string(value.step) + ", of " +
                                 std::to_string(parts_->next()) + " steps"));
    return *this;
  }
  parts_->current = value.step;
  return *this;
}

PlanBuilder& PlanBuilder::FromSample() {
  parts_->current = Node::kSource;
  return *this;
}

StepValue PlanBuilder::value() const { return {parts_->current}; }

PlanBuilder& PlanBuilder::Field() {
  parts_->AddField(FieldSpec::Kind::kValue);
  return *this;
}

PlanBuilder& PlanBuilder::ListField() {
  parts_->AddField(FieldSpec::Kind::kList);
  return *this;
}

PlanBuilder& PlanBuilder::LabelField() {
  if (!parts_->mistake.ok()) return *this;
  if (IsOfArrays(parts_->source)) {
    parts_->Fail(
        InvalidArgument("LabelField: a source of arrays has no labels; ArrayField adds an array"));
  } else {
    parts_->fields.push_back({FieldSpec::Kind::kArray, 1});
  }
  return *this;
}

PlanBuilder& PlanBuilder::ArrayField(int index) {
  if (!parts_->mistake.ok()) return *this;
  const std::vector<SourceLeaf::Array>& arrays = parts_->source.leaves.front().arrays;
  if (index < 0 || index >= std::ssize(arrays)) {
    parts_->Fail(InvalidArgument("ArrayField: there is no array " + std::to_string(index) + " of " +
                                 std::to_string(arrays.size())));
  } else {
    parts_->fields.push_back({FieldSpec::Kind::kArray, index});
  }
  return *this;
}

PlanBuilder& PlanBuilder::Rows(std::vector<std::int64_t> rows) {
  if (!parts_->mistake.ok()) return *this;
  const std::int64_t samples = parts_->source.samples();
  const auto wrong = [samples](std::int64_t row) { return row < 0 || row >= samples; };
  const auto found = std::ranges::find_if(rows, wrong);
  if (rows.empty()) parts_->Fail(InvalidArgument("Rows: there is none"));
  if (found != rows.end()) {
    parts_->Fail(InvalidArgument("Rows: row " + std::to_string(*found) + " of a source of " +
                                 std::to_string(samples)));
  }
  parts_->rows = std::move(rows);
  return *this;
}

PlanBuilder& PlanBuilder::Random(RngMode mode, std::int32_t lanes) {
  if (mode != RngMode::kSample && mode != RngMode::kTorch) {
    parts_->Fail(InvalidArgument("Random: the mode is kSample or kTorch"));
  }
  if (lanes < 1 || lanes > kMostLanes) {
    parts_->Fail(InvalidArgument("Random: lanes is " + std::to_string(lanes) + ", and may be 1.." +
                                 std::to_string(kMostLanes)));
  }
  parts_->rng = mode;
  parts_->lanes = lanes;
  return *this;
}

PlanBuilder& PlanBuilder::Libraries(ClientLibraries libraries) {
  parts_->libraries = std::move(libraries);
  return *this;
}

PlanBuilder& PlanBuilder::TorchExp(Exp exp) {
  if (!exp) parts_->Fail(InvalidArgument("TorchExp: there is no function"));
  parts_->exp = std::move(exp);
  return *this;
}

PlanBuilder& PlanBuilder::Name(std::string name) {
  parts_->name = std::move(name);
  return *this;
}

Status PlanBuilder::status() const { return parts_->mistake; }

Result<BuiltPlan> PlanBuilder::Build() const {
  HR_RETURN_IF_ERROR(parts_->mistake);
  BuiltPlan built;
  HR_TRY(built.plan, parts_->Shape());
  built.blobs = parts_->source.blobs;
  built.classes = parts_->source.classes;
  built.samples = parts_->source.samples();
  if (!built.plan.chain.empty()) {
    const Status checked = CheckGraph(built.plan);
    if (!checked.ok()) return OfStep(checked);
    Result<ops::Graph> graph =
        ops::Graph::Compile(built.plan.chain, ValuesOf(built.plan), built.plan.libraries, {},
                            ops::TorchFunctions::Loaded(), ListsOf(built.plan));
    if (!graph.ok()) return OfStep(graph.status());
    HR_RETURN_IF_ERROR(CheckFirst(*graph, parts_->source));
    HR_RETURN_IF_ERROR(CheckFiles(built.plan.leaves, graph->files()));
    HR_RETURN_IF_ERROR(parts_->AddDraws(*graph, built));
  }
  if (parts_->rows) {
    const ByteSpan raw = std::as_bytes(std::span(*parts_->rows));
    built.plan.row_map = client::AddBlob(CopyBytes(raw), built.blobs);
    built.samples = std::ssize(*parts_->rows);
  }
  return built;
}

}  // namespace headrace
