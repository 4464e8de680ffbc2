#include "base/check.h"
#include "ops/core/op_registry.h"

namespace headrace::ops {

void RegisterKernels(KernelRegistry& registry);  // generated from the operator folders

void KernelRegistry::Add(std::string name, KernelFactory make) {
  const bool added = entries_.emplace(std::move(name), std::move(make)).second;
  HR_CHECK(added);
}

const KernelFactory* KernelRegistry::Find(std::string_view name) const {
  const auto at = entries_.find(name);
  return at == entries_.end() ? nullptr : &at->second;
}

const KernelRegistry& KernelRegistry::Builtin() {
  static const KernelRegistry* const registry = [] {
    auto* made = new KernelRegistry;  // lives as long as the process
    RegisterKernels(*made);
    return made;
  }();
  return *registry;
}

}  // namespace headrace::ops
