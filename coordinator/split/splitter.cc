#include "coordinator/split/splitter.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

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

Result<wire::Split> SplitPlan(const Plan& plan, const NativeCheck& check) {
  HR_RETURN_IF_ERROR(CheckPlan(plan));
  wire::Split split;
  const std::span<const Node> chain(plan.chain);
  if (plan.has_python_stage) {
    split.worker_nodes = static_cast<std::int32_t>(chain.size());
    return split;
  }
  std::size_t legal = 0;
  while (legal < chain.size() && OwnReason(chain[legal]).empty()) ++legal;
  std::string why = legal < chain.size() ? OwnReason(chain[legal]) : "";
  // A native name may have arguments without a native form: the longest prefix that compiles
  // counts. A part of a graph makes no sample.
  const bool whole = HasGraph(plan);
  std::vector<std::int32_t> values;
  if (whole) values = ValuesOf(plan);
  if (whole && legal < chain.size()) legal = 0;
  int pure = 0;
  for (; legal > 0; legal = whole ? 0 : legal - 1) {
    const Result<int> checked = check(chain.first(legal), values, plan.libraries);
    if (checked.ok()) {
      pure = *checked;
      break;
    }
    why = checked.status().message();
  }
  split.worker_nodes = static_cast<std::int32_t>(legal);
  split.cache_node = std::min<std::int32_t>(pure, split.worker_nodes);
  for (std::size_t i = legal; i < chain.size(); ++i) {
    const std::string own = OwnReason(chain[i]);
    std::string reason = i == legal ? why : own;
    if (reason.empty() && whole) reason = "another part of the plan does";
    if (reason.empty()) reason = "it comes after " + NameOf(chain[legal]);
    split.reasons.push_back(NameOf(chain[i]) + " stays in the trainer: " + reason);
  }
  return split;
}

}  // namespace headrace::coordinator
