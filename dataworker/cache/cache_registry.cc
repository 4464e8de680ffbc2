#include "dataworker/cache/cache_registry.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"

namespace headrace::dataworker {

Result<CacheTierChoice> CacheTierChoice::Parse(std::string_view text) {
  const auto bad = [&] {
    return InvalidArgument("a cache tier is NAME or NAME:KEY=VALUE,KEY=VALUE, not " +
                           std::string(text));
  };
  const std::size_t colon = text.find(':');
  CacheTierChoice choice{.name = std::string(text.substr(0, colon)), .settings = {}};
  if (choice.name.empty()) return bad();
  if (colon == std::string_view::npos) return choice;
  for (std::string_view rest = text.substr(colon + 1);;) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    const std::size_t equal = word.find('=');
    if (equal == std::string_view::npos || equal == 0) return bad();
    choice.settings.emplace_back(word.substr(0, equal), word.substr(equal + 1));
    if (comma == std::string_view::npos) return choice;
    rest = rest.substr(comma + 1);
  }
}

std::vector<Setting> CacheTierDescriptor::AllSettings() const {
  std::vector<Setting> all = {{.name = std::string(kSize),
                               .kind = Setting::Kind::kBytes,
                               .value = "0",
                               .help = "most bytes that it takes, for example 2G"}};
  all.insert(all.end(), settings.begin(), settings.end());
  return all;
}

void CacheRegistry::Add(CacheTierDescriptor tier) {
  HR_CHECK(std::ranges::count(tier.AllSettings(), CacheTierDescriptor::kSize, &Setting::name) == 1);
  std::string name = tier.name;
  HR_CHECK(tiers_.emplace(std::move(name), std::move(tier)).second);
}

Result<std::unique_ptr<CacheTier>> CacheRegistry::Make(const CacheTierChoice& choice) const {
  const auto found = tiers_.find(choice.name);
  if (found == tiers_.end()) {
    std::string known;
    for (const CacheTierDescriptor* each : All()) {
      known += (known.empty() ? "" : ", ") + each->name;
    }
    return NotFound("no cache tier named " + choice.name + "; this build has: " + known);
  }
  const CacheTierDescriptor& tier = found->second;
  HR_TRY(const Settings settings, Settings::Make(tier.AllSettings(), choice.settings));
  return tier.make(settings.Bytes(CacheTierDescriptor::kSize), settings);
}

Result<std::unique_ptr<SampleStore>> CacheRegistry::MakeStore(
    const std::vector<CacheTierChoice>& choices) const {
  if (choices.empty()) return InvalidArgument("a cache has at least one tier");
  std::vector<SampleStore::Tier> tiers;
  std::set<std::string> names;
  for (const CacheTierChoice& choice : choices) {
    if (!names.insert(choice.name).second) {
      return InvalidArgument("the cache tier " + choice.name + " is given twice");
    }
    auto made = Make(choice);
    if (!made.ok()) return made.status().WithContext("cache tier " + choice.name);
    tiers.push_back({choice.name, std::move(made).value()});
  }
  return std::make_unique<SampleStore>(std::move(tiers));
}

std::vector<const CacheTierDescriptor*> CacheRegistry::All() const {
  std::vector<const CacheTierDescriptor*> all;
  for (const auto& [name, tier] : tiers_) all.push_back(&tier);
  return all;
}

}  // namespace headrace::dataworker
