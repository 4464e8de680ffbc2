#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/graph.h"
#include "base/result.h"

// The description of an operator. It validates the arguments of a node and writes the reference
// page.
namespace headrace::ops {

enum class ArgType : std::uint8_t {
  kBool,     // int64 0 or 1
  kInt,      // int64
  kNumber,   // double or int64
  kText,     // string
  kInts,     // int64 or a list of int64
  kNumbers,  // a number or a list of numbers
};
[[nodiscard]] std::string_view ArgTypeName(ArgType type);

struct ArgSpec {
  std::string name;
  ArgType type;
  // Absent: the argument may be left out unless required, and then has no value (Python's None).
  std::optional<ArgValue> default_value;
  std::string doc;
  bool required = false;
  // It decides how pixels are made, and neither draws nor sizes.
  bool only_pixels = false;
};

// For which other values a node's draws mean the same, so that a node of its operator may use them
// (Graph).
enum class SharedDraws : std::uint8_t {
  kNone,
  kSameKind,  // a picture of its height and width, and of its type and layout
  kAnyKind,   // a picture of its height and width: a PIL image or a tensor
};

struct OpSpec {
  std::string name;
  std::string doc;
  std::vector<ArgSpec> args;
  // The framework's classes that this operator implements, as "v1.Resize", "v2.Resize".
  std::vector<std::string> classes;
  SharedDraws shares_draws = SharedDraws::kNone;
};

// The arguments of one node, checked against its OpSpec: known names, right types, required ones
// present, defaults filled in. Getters are for arguments that the OpSpec lists with that type.
class OpArgs {
 public:
  // kUnsupported: an argument that this operator does not know. kInvalidArgument: a wrong type, or
  // a missing required argument.
  static Result<OpArgs> Make(const OpSpec& spec, const Args& args);

  [[nodiscard]] bool Has(std::string_view name) const { return Find(name) != nullptr; }
  // True if several values were given, or a list of one.
  [[nodiscard]] bool IsList(std::string_view name) const;
  [[nodiscard]] bool Bool(std::string_view name) const { return Int(name) != 0; }
  [[nodiscard]] std::int64_t Int(std::string_view name) const;
  [[nodiscard]] double Number(std::string_view name) const;
  [[nodiscard]] const std::string& Text(std::string_view name) const;
  // Treats a single number as a list of one.
  [[nodiscard]] std::vector<std::int64_t> Ints(std::string_view name) const;
  [[nodiscard]] std::vector<double> Numbers(std::string_view name) const;

 private:
  [[nodiscard]] const ArgValue* Find(std::string_view name) const;
  Args values_;
};

// Writes "| argument
// type
// default
// meaning |" rows for one operator, with its description, as Markdown.
[[nodiscard]] std::string Describe(const OpSpec& spec);

}  // namespace headrace::ops
