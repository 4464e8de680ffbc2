#include "coordinator/pool/core/pool.h"

#include <utility>

#include "base/check.h"

namespace headrace::coordinator {

std::string PoolName(std::string_view endpoint) {
  const std::size_t scheme = endpoint.find("://");
  if (scheme != std::string_view::npos) endpoint.remove_prefix(scheme + 3);
  std::string name = "headrace-";
  for (const char c : endpoint) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    name += plain || c == '.' ? c : '-';
  }
  return name;
}

void PoolRegistry::Register(PoolDescriptor descriptor) {
  std::string name = descriptor.name;
  HR_CHECK(pools_.emplace(std::move(name), std::move(descriptor)).second);
}

Result<std::unique_ptr<Pool>> PoolRegistry::Make(std::string_view name, const GivenSettings& given,
                                                 net::Reactor& reactor, PoolOptions options,
                                                 PoolEvents events) const {
  const PoolDescriptor* found = Find(name);
  if (found == nullptr) {
    std::string known;
    for (const std::string& each : Names()) known += (known.empty() ? "" : ", ") + each;
    return NotFound("no pool named " + std::string(name) + "; this build has: " + known);
  }
  HR_TRY(options.settings, Settings::Make(found->settings, given));
  return found->make(reactor, std::move(options), std::move(events));
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

const PoolDescriptor* PoolRegistry::Find(std::string_view name) const {
  const auto found = pools_.find(name);
  return found == pools_.end() ? nullptr : &found->second;
}

}  // namespace headrace::coordinator
