#include "ops/core/op_registry.h"

#include "base/check.h"

namespace headrace::ops {

void RegisterSchemas(SchemaRegistry& registry);  // generated from the operator folders

void SchemaRegistry::Add(OpSpec spec, SchemaFactory make) {
  std::string name = spec.name;
  const bool added =
      entries_.emplace(std::move(name), Entry{std::move(spec), std::move(make)}).second;
  HR_CHECK(added);
}

const SchemaRegistry::Entry* SchemaRegistry::Find(std::string_view name) const {
  const auto at = entries_.find(name);
  return at == entries_.end() ? nullptr : &at->second;
}

const SchemaRegistry& SchemaRegistry::Builtin() {
  static const SchemaRegistry* const registry = [] {
    auto* made = new SchemaRegistry;  // lives as long as the process
    RegisterSchemas(*made);
    return made;
  }();
  return *registry;
}

}  // namespace headrace::ops
