#pragma once

#include <charconv>
#include <cstdint>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/graph.h"

// Operators as text that a fuzzer changes easily. One line is one node, its parts divided by spaces:
//
//   random_crop size=I8,8 fill=i0 <-1,2
//
// i, d and s are a number, a float and a text; I and D are lists; < names the inputs. What can't be read
// is left out.
namespace headrace::fuzz {

// At least one.
template <typename Number>
std::vector<Number> NumbersIn(std::string_view text) {
  std::vector<Number> numbers;
  for (const auto part : std::views::split(text, ',')) {
    const std::string one(part.begin(), part.end());
    Number number{};
    std::from_chars(one.data(), one.data() + one.size(), number);
    numbers.push_back(number);
  }
  if (numbers.empty()) numbers.push_back({});
  return numbers;
}

inline void AddArg(std::string_view part, Node* node) {
  const std::size_t at = part.find('=');
  if (at == std::string_view::npos || at + 1 >= part.size()) return;
  const std::string_view text = part.substr(at + 2);
  ArgValue& value = node->args[std::string(part.substr(0, at))];
  switch (part[at + 1]) {
    case 'i':
      value = NumbersIn<std::int64_t>(text)[0];
      break;
    case 'd':
      value = NumbersIn<double>(text)[0];
      break;
    case 'I':
      value = NumbersIn<std::int64_t>(text);
      break;
    case 'D':
      value = NumbersIn<double>(text);
      break;
    default:
      value = std::string(text);
  }
}

inline std::vector<Node> NodesIn(std::string_view text) {
  std::vector<Node> nodes;
  for (const auto line : std::views::split(text, '\n')) {
    Node node;
    for (const auto each : std::views::split(line, ' ')) {
      const std::string_view part(each.begin(), each.end());
      if (part.starts_with('<')) {
        node.inputs = NumbersIn<std::int32_t>(part.substr(1));
      } else if (node.op.empty()) {
        node.op = part;
      } else {
        AddArg(part, &node);
      }
    }
    if (!node.op.empty()) nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace headrace::fuzz
