#include "ops/core/op_spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace headrace::ops {
namespace {

bool Fits(const ArgValue& value, ArgType type) {
  const bool is_int = std::holds_alternative<std::int64_t>(value);
  const bool is_number = is_int || std::holds_alternative<double>(value);
  const bool is_ints = std::holds_alternative<std::vector<std::int64_t>>(value);
  switch (type) {
    case ArgType::kBool:
      return is_int && (std::get<std::int64_t>(value) == 0 || std::get<std::int64_t>(value) == 1);
    case ArgType::kInt:
      return is_int;
    case ArgType::kNumber:
      return is_number;
    case ArgType::kText:
      return std::holds_alternative<std::string>(value);
    case ArgType::kInts:
      return is_int || is_ints;
    case ArgType::kNumbers:
      return is_number || is_ints || std::holds_alternative<std::vector<double>>(value);
  }
  return false;
}

std::string Show(double value) {
  constexpr double kMostWhole = 1e15;  // without an exponent
  if (std::abs(value) < kMostWhole && value == std::trunc(value)) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return {text, end};
}
std::string Show(std::int64_t value) { return std::to_string(value); }
std::string Show(const std::string& value) { return "\"" + value + "\""; }
std::string Show(const Bytes& value) { return std::to_string(value.size()) + " bytes"; }
template <typename T>
std::string Show(const std::vector<T>& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i > 0 ? ", " : "") + Show(values[i]);
  return text + "]";
}

// "a, b or c"
std::string Listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 < words.size() ? ", " : " or ") + words[i];
  }
  return text;
}

std::string RangeText(const ArgLimits& limits) {
  if (!limits.choices.empty()) return Listed(limits.choices);
  if (limits.least && limits.above) {
    const std::string above = "above " + Show(*limits.least);
    return limits.most ? above + ", up to " + Show(*limits.most) : above;
  }
  if (limits.least && limits.most) return Show(*limits.least) + ".." + Show(*limits.most);
  if (limits.least) return "from " + Show(*limits.least);
  return limits.most ? "up to " + Show(*limits.most) : "";
}

bool Inside(const ArgLimits& limits, double value) {
  if (std::isnan(value)) return false;
  if (limits.least && (limits.above ? value <= *limits.least : value < *limits.least)) return false;
  return !limits.most || value <= *limits.most;
}
bool Inside(const ArgLimits& limits, std::int64_t value) {
  return Inside(limits, static_cast<double>(value));
}
bool Inside(const ArgLimits& limits, const std::string& value) {
  return limits.choices.empty() || std::ranges::find(limits.choices, value) != limits.choices.end();
}
bool Inside(const ArgLimits& /*limits*/, const Bytes& /*value*/) { return true; }
template <typename T>
bool Inside(const ArgLimits& limits, const std::vector<T>& values) {
  const bool counted = limits.counts.empty() ||
                       std::ranges::find(limits.counts, values.size()) != limits.counts.end();
  return counted &&
         std::ranges::all_of(values, [&](const T& value) { return Inside(limits, value); });
}

}  // namespace

ArgSpec ArgSpec::In(double least, double most) const { return AtLeast(least).AtMost(most); }
ArgSpec ArgSpec::AtLeast(double least) const {
  ArgSpec made = *this;
  made.limits.least = least;
  return made;
}
ArgSpec ArgSpec::AtMost(double most) const {
  ArgSpec made = *this;
  made.limits.most = most;
  return made;
}
ArgSpec ArgSpec::Above(double least, std::optional<double> most) const {
  ArgSpec made = AtLeast(least);
  made.limits.above = true;
  made.limits.most = most;
  return made;
}
ArgSpec ArgSpec::OneOf(std::vector<std::string> choices) const {
  ArgSpec made = *this;
  made.limits.choices = std::move(choices);
  return made;
}
ArgSpec ArgSpec::Count(std::vector<std::size_t> counts) const {
  ArgSpec made = *this;
  made.limits.counts = std::move(counts);
  return made;
}
ArgSpec ArgSpec::Unit(std::string of) const {
  ArgSpec made = *this;
  made.unit = std::move(of);
  return made;
}

std::string LimitsText(const ArgSpec& arg) {
  std::string text = RangeText(arg.limits);
  if (arg.type == ArgType::kBool && text.empty()) text = "0 or 1";
  if (!arg.limits.counts.empty()) {
    std::vector<std::string> counts;
    for (const std::size_t count : arg.limits.counts) counts.push_back(std::to_string(count));
    text +=
        (text.empty() ? "" : ", ") + Listed(counts) + (counts.back() == "1" ? " value" : " values");
  }
  return text.empty() ? "any" : text;
}

std::string ShowValue(const ArgValue& value) {
  return std::visit([](const auto& one) { return Show(one); }, value);
}

Status CheckLimits(const ArgSpec& arg, const ArgValue& value) {
  const bool fits = Fits(value, arg.type);
  if (fits && std::visit([&](const auto& one) { return Inside(arg.limits, one); }, value))
    return {};
  std::string text = "argument " + arg.name + " is " + ShowValue(value);
  if (!fits) return InvalidArgument(text + ", which is not " + std::string(ArgTypeName(arg.type)));
  text += ", and may be " + LimitsText(arg);
  return InvalidArgument(arg.unit.empty() ? text : text + " (" + arg.unit + ")");
}

std::string_view ArgTypeName(ArgType type) {
  switch (type) {
    case ArgType::kBool:
      return "0 or 1";
    case ArgType::kInt:
      return "integer";
    case ArgType::kNumber:
      return "number";
    case ArgType::kText:
      return "text";
    case ArgType::kInts:
      return "integer or integers";
    case ArgType::kNumbers:
      return "number or numbers";
  }
  return "unknown";
}

Result<OpArgs> OpArgs::Make(const OpSpec& spec, const Args& args) {
  OpArgs made;
  for (const ArgSpec& arg : spec.args) {
    const auto given = args.find(arg.name);
    if (given == args.end()) {
      if (arg.required) return InvalidArgument("argument " + arg.name + " is missing");
      if (arg.default_value) made.values_[arg.name] = *arg.default_value;
      continue;
    }
    if (!Fits(given->second, arg.type)) {
      return InvalidArgument("argument " + arg.name + " is not " +
                             std::string(ArgTypeName(arg.type)));
    }
    made.values_[arg.name] = given->second;
  }
  for (const auto& [name, value] : args) {
    bool known = false;
    for (const ArgSpec& arg : spec.args) known |= arg.name == name;
    if (!known) return Unsupported("argument " + name + " has no native form");
  }
  return made;
}

const ArgValue* OpArgs::Find(std::string_view name) const {
  const auto at = values_.find(std::string(name));
  return at == values_.end() ? nullptr : &at->second;
}

bool OpArgs::IsList(std::string_view name) const {
  const ArgValue* value = Find(name);
  return value != nullptr && (std::holds_alternative<std::vector<std::int64_t>>(*value) ||
                              std::holds_alternative<std::vector<double>>(*value));
}

std::int64_t OpArgs::Int(std::string_view name) const {
  const ArgValue* value = Find(name);
  HR_CHECK(value != nullptr);
  return std::get<std::int64_t>(*value);
}

double OpArgs::Number(std::string_view name) const {
  const ArgValue* value = Find(name);
  HR_CHECK(value != nullptr);
  if (const auto* i = std::get_if<std::int64_t>(value)) return static_cast<double>(*i);
  return std::get<double>(*value);
}

const std::string& OpArgs::Text(std::string_view name) const {
  const ArgValue* value = Find(name);
  HR_CHECK(value != nullptr);
  return std::get<std::string>(*value);
}

std::vector<std::int64_t> OpArgs::Ints(std::string_view name) const {
  const ArgValue* value = Find(name);
  HR_CHECK(value != nullptr);
  if (const auto* i = std::get_if<std::int64_t>(value)) return {*i};
  return std::get<std::vector<std::int64_t>>(*value);
}

std::vector<double> OpArgs::Numbers(std::string_view name) const {
  const ArgValue* value = Find(name);
  HR_CHECK(value != nullptr);
  if (const auto* list = std::get_if<std::vector<double>>(value)) return *list;
  if (const auto* d = std::get_if<double>(value)) return {*d};
  const std::vector<std::int64_t> whole = Ints(name);
  return {whole.begin(), whole.end()};
}

std::string Describe(const OpSpec& spec) {
  std::string text = "### " + spec.name + "\n\n" + spec.doc + "\n\n";
  if (!spec.classes.empty()) {
    text += "Framework classes:";
    for (const std::string& name : spec.classes) text += " `" + name + "`";
    text += "\n\n";
  }
  if (!spec.draws.empty()) text += "Draws: " + spec.draws + ".\n\n";
  if (spec.args.empty()) return text + "No arguments.\n";
  text +=
      "| argument | type | range | unit | default | meaning |\n| --- | --- | --- | --- | --- | --- "
      "|\n";
  for (const ArgSpec& arg : spec.args) {
    std::string fallback = arg.required ? "required" : "none";
    if (arg.default_value) fallback = ShowValue(*arg.default_value);
    text += "| " + arg.name + " | " + std::string(ArgTypeName(arg.type)) + " | " + LimitsText(arg) +
            " | " + arg.unit + " | " + fallback + " | " + arg.doc + " |\n";
  }
  return text;
}

}  // namespace headrace::ops
