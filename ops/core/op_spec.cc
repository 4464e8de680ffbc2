#include "ops/core/op_spec.h"

#include <charconv>

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

}  // namespace

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
  if (spec.args.empty()) return text + "No arguments.\n";
  text += "| argument | type | default | meaning |\n| --- | --- | --- | --- |\n";
  for (const ArgSpec& arg : spec.args) {
    std::string fallback = arg.required ? "required" : "none";
    if (arg.default_value) {
      fallback = std::visit([](const auto& value) { return Show(value); }, *arg.default_value);
    }
    text += "| " + arg.name + " | " + std::string(ArgTypeName(arg.type)) + " | " + fallback +
            " | " + arg.doc + " |\n";
  }
  return text;
}

}  // namespace headrace::ops
