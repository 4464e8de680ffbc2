#include "base/settings.h"

#include <algorithm>
#include <cctype>
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

// A number and a unit: B, or K, M, G, T with B or iB after it, in capitals or not.
std::optional<std::uint64_t> ParseBytes(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return std::nullopt;
  std::string unit(rest, end);
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr std::string_view kPrefixes = "kmgt";
  int power = 0;
  if (!unit.empty() && unit != "b") {
    const std::size_t prefix = kPrefixes.find(unit.front());
    if (prefix == std::string_view::npos) return std::nullopt;
    const std::string_view after = std::string_view(unit).substr(1);
    if (!after.empty() && after != "b" && after != "ib") return std::nullopt;
    power = 10 * (static_cast<int>(prefix) + 1);
  }
  if (value > (~std::uint64_t{0} >> power)) return std::nullopt;
  return value << power;
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
    if (setting->kind == Setting::Kind::kBytes && !ParseBytes(value)) {
      return InvalidArgument("setting " + name + " is a size, for example 64M or 2G, not " + value);
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

std::uint64_t Settings::Bytes(std::string_view name) const {
  const std::optional<std::uint64_t> value = ParseBytes(Text(name));
  HR_CHECK(value.has_value());
  return *value;
}

const std::string& Settings::Text(std::string_view name) const {
  const auto found = values_.find(name);
  HR_CHECK(found != values_.end());
  return found->second;
}

}  // namespace headrace
