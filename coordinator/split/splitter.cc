#include "coordinator/split/splitter.h"

#include <cstddef>
#include <string>

#include "base/plan_files.h"

namespace headrace::coordinator {
namespace {

// More nodes than any program has; bounds the work that a peer can ask for.
constexpr std::size_t kMaxNodes = 256;

std::string NameOf(const Node& node) { return node.label.empty() ? node.op : node.label; }

Status CheckPlan(const Plan& plan) {
  const std::string name = "plan " + (plan.name.empty() ? std::string("without name") : plan.name);
  if (plan.lanes < 1) return InvalidArgument(name + ": needs at least one lane");
  if (plan.chain.size() > kMaxNodes) {
    return InvalidArgument(name + ": a chain of " + std::to_string(plan.chain.size()) +
                           " nodes; at most " + std::to_string(kMaxNodes));
  }
  if (plan.has_python_stage) {
    return Status::Ok();  // without a bundle, the code stays on the trainer's host
  }
  if (plan.leaves.empty()) return InvalidArgument(name + ": no source");
  if (plan.fields.empty()) return InvalidArgument(name + ": no field in its samples");
  for (const SourceLeaf& leaf : plan.leaves) {
    if (leaf.rows < 0) return InvalidArgument(name + ": a source with a negative number of rows");
    for (const FieldSpec& field : plan.fields) {
      if (field.kind != FieldSpec::Kind::kArray) continue;
      if (field.index < 0 || static_cast<std::size_t>(field.index) >= leaf.columns()) {
        return InvalidArgument(name + ": field " + std::to_string(field.index) +
                               " is not in every source");
      }
    }
  }
  const Status graph = CheckGraph(plan);
  return graph.ok() ? graph : graph.WithContext(name);
}

// Says why capture keeps this node in the trainer; empty: it can go to a worker.
std::string OwnReason(const Node& node) {
  if (node.purity == Purity::kStateful) {
    return node.reason.empty() ? "it keeps state" : node.reason;
  }
  if (node.form == Form::kPython) {
    return node.reason.empty() ? "it has no native form" : node.reason;
  }
  return {};
}

}  // namespace

Result<wire::Split> SplitPlan(const Plan& plan, const NativeCheck& check, NativeForm* form) {
  HR_RETURN_IF_ERROR(CheckPlan(plan));
  wire::Split split;
  split.worker_nodes = static_cast<std::int32_t>(plan.chain.size());
  if (plan.has_python_stage || plan.chain.empty()) return split;
  for (const Node& node : plan.chain) {
    if (const std::string why = OwnReason(node); !why.empty()) {
      return Unsupported(NameOf(node) + " stays in the trainer: " + why);
    }
  }
  std::vector<std::int32_t> values;
  if (HasGraph(plan)) values = ValuesOf(plan);
  HR_TRY(const NativeForm found, check(plan.chain, values, plan.libraries));
  HR_RETURN_IF_ERROR(CheckFiles(plan.leaves, found.files));
  split.cache_node = found.pure_prefix;
  if (!HasLists(plan)) split.tail_node = found.tail;  // a trainer finishes stacks alone
  if (form != nullptr) *form = found;
  return split;
}

}  // namespace headrace::coordinator
