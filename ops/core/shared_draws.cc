#include "ops/core/shared_draws.h"

#include <algorithm>
#include <string>
#include <variant>

#include "ops/core/op_registry.h"

namespace headrace::ops {
namespace {

// Whether the argument may differ between the two.
bool OnlyPixels(const OpSpec& spec, const std::string& name) {
  const auto arg = std::ranges::find(spec.args, name, &ArgSpec::name);
  return name == kDrawsOf || (arg != spec.args.end() && arg->only_pixels);
}

Args DrawingArgs(const OpSpec& spec, Args args) {
  std::erase_if(args, [&](const auto& arg) { return OnlyPixels(spec, arg.first); });
  return args;
}

Status CheckPair(const Node& drawing, const Node& sharing) {
  const std::string of = drawing.label.empty() ? drawing.op : drawing.label;
  const SchemaRegistry::Entry* entry = SchemaRegistry::Builtin().Find(sharing.op);
  if (entry == nullptr || sharing.op != drawing.op || drawing.args.contains(kDrawsOf) ||
      entry->spec.shares_draws == SharedDraws::kNone) {
    return Unsupported("it cannot use the draws of " + of);
  }
  if (DrawingArgs(entry->spec, drawing.args) == DrawingArgs(entry->spec, sharing.args)) return {};
  return Unsupported("its arguments draw differently from those of " + of);
}

}  // namespace

Result<std::vector<std::int32_t>> ReadSharedDraws(const std::vector<Node>& nodes) {
  std::vector<std::int32_t> shared(nodes.size(), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto arg = nodes[i].args.find(kDrawsOf);
    if (arg == nodes[i].args.end()) continue;
    const std::string name = "node " + std::to_string(i) + " " + nodes[i].op;
    const auto* of = std::get_if<std::int64_t>(&arg->second);
    if (of == nullptr || *of < 0 || *of >= static_cast<std::int64_t>(i)) {
      return InvalidArgument(name + " uses the draws of no node before it");
    }
    const Status pair = CheckPair(nodes[static_cast<std::size_t>(*of)], nodes[i]);
    if (!pair.ok()) return pair.WithContext(name);
    shared[i] = static_cast<std::int32_t>(*of);
  }
  return shared;
}

}  // namespace headrace::ops
