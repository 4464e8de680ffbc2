#include "coordinator/pool/core/pool.h"

#include <utility>

#include "base/check.h"

namespace headrace::coordinator {

void PoolRegistry::Register(std::string name, PoolFactory factory) {
  HR_CHECK(factories_.emplace(std::move(name), std::move(factory)).second);
}

Result<std::unique_ptr<Pool>> PoolRegistry::Make(std::string_view name, net::Reactor& reactor,
                                                 PoolOptions options, PoolEvents events) const {
  if (const auto it = factories_.find(name); it != factories_.end()) {
    return it->second(reactor, std::move(options), std::move(events));
  }
  std::string known;
  for (const std::string& each : Names()) known += (known.empty() ? "" : ", ") + each;
  return NotFound("no pool named " + std::string(name) + "; this build has: " + known);
}

std::vector<std::string> PoolRegistry::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, factory] : factories_) names.push_back(name);
  return names;
}

}  // namespace headrace::coordinator
