#include "coordinator/pool/core/pool_settings.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/check.h"

namespace headrace::coordinator {
namespace {

std::optional<std::int64_t> ParseCount(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

Status NoSuchSetting(const std::vector<PoolSetting>& known, const std::string& name) {
  std::string names;
  for (const PoolSetting& each : known) names += (names.empty() ? "" : ", ") + each.name;
  return InvalidArgument("this pool has no setting " + name +
                         "; it has: " + (names.empty() ? "none" : names));
}

}  // namespace

Result<PoolSettings> PoolSettings::Make(const std::vector<PoolSetting>& known,
                                        const GivenSettings& given) {
  PoolSettings settings;
  for (const PoolSetting& each : known) settings.values_[each.name] = each.value;
  for (const auto& [name, value] : given) {
    const auto setting = std::ranges::find(known, name, &PoolSetting::name);
    if (setting == known.end()) return NoSuchSetting(known, name);
    if (setting->kind == PoolSetting::Kind::kCount && !ParseCount(value)) {
      return InvalidArgument("setting " + name + " of a pool is a whole number, 0 or more, not " +
                             value);
    }
    settings.values_[name] = value;
  }
  return settings;
}

std::int64_t PoolSettings::Count(std::string_view name) const {
  const std::optional<std::int64_t> value = ParseCount(Text(name));
  HR_CHECK(value.has_value());
  return *value;
}

const std::string& PoolSettings::Text(std::string_view name) const {
  const auto found = values_.find(name);
  HR_CHECK(found != values_.end());
  return found->second;
}

}  // namespace headrace::coordinator
