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

// What each value of an argument may be. What is not said is any value of the type. It tells a person what
// is right (CheckLimits, the reference page). The operator's factory refuses what it excludes, unless the
// argument says nothing of the value that the operator is given (those of tensors alone).
struct ArgLimits {
  std::optional<double> least, most;
  bool above = false;                // `least` itself is excluded
  std::vector<std::string> choices;  // of a text; empty: any
  std::vector<std::size_t> counts;   // how many values a list may have; empty: any number
};

// The functions return a copy with a limit more: {"p", ...}.In(0, 1).
struct ArgSpec {
  std::string name;
  ArgType type;
  // Absent: the argument may be left out unless required, and then has no value (Python's None).
  std::optional<ArgValue> default_value;
  std::string doc;
  bool required = false;
  // It decides how pixels are made, and neither draws nor sizes.
  bool only_pixels = false;
  ArgLimits limits = {};
  std::string unit = {};  // "pixels"; empty: none

  [[nodiscard]] ArgSpec In(double least, double most) const;
  [[nodiscard]] ArgSpec AtLeast(double least) const;
  [[nodiscard]] ArgSpec AtMost(double most) const;
  // (least, most]
  [[nodiscard]] ArgSpec Above(double least, std::optional<double> most = std::nullopt) const;
  [[nodiscard]] ArgSpec OneOf(std::vector<std::string> choices) const;
  [[nodiscard]] ArgSpec Count(std::vector<std::size_t> counts) const;
  [[nodiscard]] ArgSpec Unit(std::string unit) const;
};
// What the values may be, for people: "1..10, 1 or 2 values"; "any" where nothing is said.
[[nodiscard]] std::string LimitsText(const ArgSpec& arg);
// kInvalidArgument: the type is wrong, or a value is outside of the limits. The message names the argument,
// what was given, and what may be.
[[nodiscard]] Status CheckLimits(const ArgSpec& arg, const ArgValue& value);
// A value as people write it: 3, [0.5, 1], "RGB".
[[nodiscard]] std::string ShowValue(const ArgValue& value);

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
  // What it draws, from which generator and in which order; empty: nothing.
  std::string draws = {};
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

// Writes a row for each argument of an operator, with its description, as Markdown.
[[nodiscard]] std::string Describe(const OpSpec& spec);

}  // namespace headrace::ops
