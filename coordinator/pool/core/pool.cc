#include "coordinator/pool/core/pool.h"

#include <utility>

#include "base/check.h"

namespace headrace::coordinator {

void PoolRegistry::Register(PoolDescriptor descriptor) {
  std::string name = descriptor.name;
  HR_CHECK(pools_.emplace(std::move(name), std::move(descriptor)).second);
}

Result<std::unique_ptr<Pool>> PoolRegistry::Make(std::string_view name, const GivenSettings& given,
                                                 net::Reactor& reactor, PoolOptions options,
                                                 PoolEvents events) const {
  const auto found = pools_.find(name);
  if (found == pools_.end()) {
    std::string known;
    for (const std::string& each : Names()) known += (known.empty() ? "" : ", ") + each;
    return NotFound("no pool named " + std::string(name) + "; this build has: " + known);
  }
  HR_TRY(options.settings, Settings::Make(found->second.settings, given));
  return found->second.make(reactor, std::move(options), std::move(events));
}

std::vector<const PoolDescriptor*> PoolRegistry::All() const {
  std::vector<const PoolDescriptor*> all;
  for (const auto& [name, pool] : pools_) all.push_back(&pool);
  return all;
}

std::vector<std::string> PoolRegistry::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, pool] : pools_) names.push_back(name);
  return names;
}

}  // namespace headrace::coordinator
