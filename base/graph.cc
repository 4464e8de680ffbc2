#include "base/graph.h"

#include <algorithm>
#include <string>
#include <variant>

#include "base/file_group.h"

namespace headrace {
namespace {

bool HasInputs(const Node& node) { return !node.inputs.empty(); }

bool IsList(const FieldSpec& field) { return field.kind == FieldSpec::Kind::kList; }

bool NamesNode(const FieldSpec& field) {
  return IsList(field) || field.kind == FieldSpec::Kind::kValue;
}

Status CheckInputs(const Node& node, std::int32_t number) {
  if (number > 0 && node.inputs == std::vector{Node::kSource}) return {};
  for (const std::int32_t input : node.inputs) {
    if (input < 0 || input >= number) {
      return InvalidArgument("node " + std::to_string(number) + " takes the value of node " +
                             std::to_string(input) + ", which is not before it");
    }
  }
  if (node.inputs.size() == 1 && node.inputs[0] == number - 1) {
    return InvalidArgument("node " + std::to_string(number) +
                           " names the node before it, whose value it takes anyway");
  }
  return {};
}

}  // namespace

Result<int> FilesOf(const SourceLeaf& leaf) {
  if (leaf.source != "file_groups") return 1;
  const auto given = leaf.args.find("files");
  const auto* files =
      given == leaf.args.end() ? nullptr : std::get_if<std::int64_t>(&given->second);
  if (files != nullptr && *files >= 2 && *files <= static_cast<std::int64_t>(FileGroup::kMost)) {
    return static_cast<int>(*files);
  }
  return InvalidArgument("the source 'file_groups' has no argument 'files' from 2 to " +
                         std::to_string(FileGroup::kMost));
}

std::int32_t NodeOf(const Plan& plan, const FieldSpec& field) {
  switch (field.kind) {
    case FieldSpec::Kind::kChain:
      return static_cast<std::int32_t>(plan.chain.size()) - 1;
    case FieldSpec::Kind::kValue:
    case FieldSpec::Kind::kList:
      return field.index;
    case FieldSpec::Kind::kArray:
      break;
  }
  return -1;
}

std::vector<std::int32_t> ValuesOf(const Plan& plan) {
  std::vector<std::int32_t> values;
  for (const FieldSpec& field : plan.fields) {
    const std::int32_t node = NodeOf(plan, field);
    if (node >= 0 && std::ranges::find(values, node) == values.end()) values.push_back(node);
  }
  return values;
}

std::vector<std::int32_t> ListsOf(const Plan& plan) {
  std::vector<std::int32_t> lists = ValuesOf(plan);
  std::erase_if(lists, [&](std::int32_t node) {
    return std::ranges::any_of(plan.fields, [&](const FieldSpec& field) {
      return NodeOf(plan, field) == node && !IsList(field);
    });
  });
  return lists;
}

bool HasGraph(const Plan& plan) {
  return std::ranges::any_of(plan.chain, HasInputs) || std::ranges::any_of(plan.fields, NamesNode);
}

bool HasLists(const Plan& plan) { return std::ranges::any_of(plan.fields, IsList); }

Status CheckGraph(const Plan& plan) {
  const auto nodes = static_cast<std::int32_t>(plan.chain.size());
  for (std::int32_t i = 0; i < nodes; ++i) {
    HR_RETURN_IF_ERROR(CheckInputs(plan.chain[static_cast<std::size_t>(i)], i));
  }
  const bool inputs = std::ranges::any_of(plan.chain, HasInputs);
  for (const FieldSpec& field : plan.fields) {
    if (NamesNode(field) && (field.index < 0 || field.index >= nodes)) {
      return InvalidArgument("a field is the value of node " + std::to_string(field.index) +
                             ", and there are " + std::to_string(nodes));
    }
    if (field.kind == FieldSpec::Kind::kChain && inputs) {
      return InvalidArgument("a field of a plan whose nodes have inputs does not name its node");
    }
  }
  return {};
}

}  // namespace headrace
