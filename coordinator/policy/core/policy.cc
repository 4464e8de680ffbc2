#include "coordinator/policy/core/policy.h"

#include <utility>

#include "base/check.h"

namespace headrace::coordinator {

void PolicyRegistry::Register(std::unique_ptr<Policy> policy) {
  std::string name(policy->name());
  HR_CHECK(policies_.emplace(std::move(name), std::move(policy)).second);
}

const Policy* PolicyRegistry::Find(std::string_view name) const {
  const auto it = policies_.find(name);
  return it == policies_.end() ? nullptr : it->second.get();
}

std::vector<std::string> PolicyRegistry::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, policy] : policies_) names.push_back(name);
  return names;
}

}  // namespace headrace::coordinator
