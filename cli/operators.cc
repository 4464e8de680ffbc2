#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <variant>

#include "cli/commands.h"
#include "ops/core/op_registry.h"

// `headrace operators`: what the registry knows of the native operators.
namespace headrace::cli {
namespace {

using Json = nlohmann::ordered_json;
using ops::ArgSpec;
using ops::OpSpec;
using ops::SchemaRegistry;

struct Options {
  std::string name;
  bool json = false;
};

Json JsonOf(const ArgValue& value) {
  return std::visit(
      [](const auto& one) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, Bytes>) {
          return nullptr;  // no argument of an operator is bytes
        } else {
          return one;
        }
      },
      value);
}

Json JsonOf(const ArgSpec& arg) {
  const ops::ArgLimits& limits = arg.limits;
  Json json{{"name", arg.name},
            {"type", ops::ArgTypeName(arg.type)},
            {"required", arg.required},
            {"default", arg.default_value ? JsonOf(*arg.default_value) : Json()},
            {"range", ops::LimitsText(arg)}};
  if (limits.least) json[limits.above ? "above" : "least"] = *limits.least;
  if (limits.most) json["most"] = *limits.most;
  if (!limits.choices.empty()) json["choices"] = limits.choices;
  if (!limits.counts.empty()) json["counts"] = limits.counts;
  json["unit"] = arg.unit;
  json["meaning"] = arg.doc;
  return json;
}

Json JsonOf(const OpSpec& spec) {
  Json args = Json::array();
  for (const ArgSpec& arg : spec.args) args.push_back(JsonOf(arg));
  return {{"name", spec.name},
          {"meaning", spec.doc},
          {"classes", spec.classes},
          {"draws", spec.draws},
          {"arguments", std::move(args)}};
}

std::string TextOf(const ArgSpec& arg) {
  std::string text = "  " + arg.name + ": " + std::string(ops::ArgTypeName(arg.type));
  const std::string range = ops::LimitsText(arg);
  if (range != "any" && range != ops::ArgTypeName(arg.type)) text += ", " + range;
  if (!arg.unit.empty()) text += " (" + arg.unit + ")";
  if (arg.required) text += ", required";
  if (arg.default_value) text += ", usually " + ops::ShowValue(*arg.default_value);
  return text + "\n      " + arg.doc + "\n";
}

std::string TextOf(const OpSpec& spec) {
  std::string text = spec.name + "\n  " + spec.doc + "\n";
  if (!spec.draws.empty()) text += "  Draws: " + spec.draws + ".\n";
  for (const ArgSpec& arg : spec.args) text += TextOf(arg);
  return text;
}

// One line each: the name, and the first sentence.
std::string List() {
  std::string text;
  std::size_t width = 0;
  for (const auto& [name, entry] : SchemaRegistry::Builtin().entries()) {
    width = std::max(width, name.size());
  }
  for (const auto& [name, entry] : SchemaRegistry::Builtin().entries()) {
    const std::string& doc = entry.spec.doc;
    text += name + std::string(width + 2 - name.size(), ' ') + doc.substr(0, doc.find(". ")) + "\n";
  }
  return text;
}

std::string Dump(const Json& json) { return json.dump(2) + "\n"; }

int Operators(const Options& options) {
  const SchemaRegistry& registry = SchemaRegistry::Builtin();
  if (options.name.empty()) {
    Json all = Json::array();
    for (const auto& [name, entry] : registry.entries()) all.push_back(JsonOf(entry.spec));
    std::fputs((options.json ? Dump(all) : List()).c_str(), stdout);
    return 0;
  }
  const SchemaRegistry::Entry* entry = registry.Find(options.name);
  if (entry == nullptr) {
    return Fail(NotFound("no operator " + options.name + "; `headrace operators` lists them"));
  }
  std::fputs((options.json ? Dump(JsonOf(entry->spec)) : TextOf(entry->spec)).c_str(), stdout);
  return 0;
}

}  // namespace

void AddOperators(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("operators", "List the native operators, or the arguments of one of them");
  command->add_option("name", options->name, "The operator")->type_name("OPERATOR");
  command->add_flag("--json", options->json, "As JSON, with all arguments");
  command->footer(
      "For plans that are composed in C++ (headrace/plan_builder.h).\n"
      "\nExamples:\n"
      "  headrace operators\n"
      "  headrace operators random_resized_crop");
  command->callback([&chosen, options] { chosen = [options] { return Operators(*options); }; });
}

}  // namespace headrace::cli
