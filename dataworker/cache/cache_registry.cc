#include "dataworker/cache/cache_registry.h"

#include <utility>

#include "base/check.h"

namespace headrace::dataworker {

void CacheRegistry::Add(CacheTier tier) {
  std::string name = tier.name;
  HR_CHECK(tiers_.emplace(std::move(name), std::move(tier)).second);
}

Result<std::unique_ptr<SampleCache>> CacheRegistry::Make(std::string_view name,
                                                         std::uint64_t budget,
                                                         const GivenSettings& given) const {
  const auto found = tiers_.find(name);
  if (found == tiers_.end()) {
    std::string known;
    for (const CacheTier* each : All()) known += (known.empty() ? "" : ", ") + each->name;
    return NotFound("no cache tier named " + std::string(name) + "; this build has: " + known);
  }
  HR_TRY(const Settings settings, Settings::Make(found->second.settings, given));
  return found->second.make(budget, settings);
}

std::vector<const CacheTier*> CacheRegistry::All() const {
  std::vector<const CacheTier*> all;
  for (const auto& [name, tier] : tiers_) all.push_back(&tier);
  return all;
}

}  // namespace headrace::dataworker
