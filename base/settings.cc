#include "base/settings.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/check.h"

namespace headrace {
namespace {

std::optional<std::int64_t> ParseCount(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

Status NoSuchSetting(const std::vector<Setting>& known, const std::string& name) {
  std::string names;
  for (const Setting& each : known) names += (names.empty() ? "" : ", ") + each.name;
  return InvalidArgument("there is no setting " + name +
                         "; there are: " + (names.empty() ? "none" : names));
}

}  // namespace

Result<Settings> Settings::Make(const std::vector<Setting>& known, const GivenSettings& given) {
  Settings settings;
  for (const Setting& each : known) settings.values_[each.name] = each.value;
  for (const auto& [name, value] : given) {
    const auto setting = std::ranges::find(known, name, &Setting::name);
    if (setting == known.end()) return NoSuchSetting(known, name);
    if (setting->kind == Setting::Kind::kCount && !ParseCount(value)) {
      return InvalidArgument("setting " + name + " is a whole number, 0 or more, not " + value);
    }
    settings.values_[name] = value;
  }
  return settings;
}

std::int64_t Settings::Count(std::string_view name) const {
  const std::optional<std::int64_t> value = ParseCount(Text(name));
  HR_CHECK(value.has_value());
  return *value;
}

const std::string& Settings::Text(std::string_view name) const {
  const auto found = values_.find(name);
  HR_CHECK(found != values_.end());
  return found->second;
}

}  // namespace headrace
