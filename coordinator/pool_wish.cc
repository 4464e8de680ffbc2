#include "coordinator/pool_wish.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

namespace headrace::coordinator {
namespace {

constexpr std::size_t kMostNameLetters = 24;  // labels of Kubernetes are short

bool IsPoolName(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto plain = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && name.size() <= kMostNameLetters && letter(name.front()) &&
         std::ranges::all_of(name, plain) && name.back() != '-';
}

template <typename Number>
bool ReadNumber(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<PoolWish> PoolWish::Parse(std::string_view text) {
  const auto bad = [&](const std::string& why) {
    return InvalidArgument("--pool " + std::string(text) + ": " + why);
  };
  const std::size_t colon = text.find(':');
  PoolWish wish{.kind = std::string(text.substr(0, colon))};
  if (wish.kind.empty()) return bad("it is KIND or KIND:KEY=VALUE,KEY=VALUE");
  if (colon == std::string_view::npos) return wish;
  for (std::string_view rest = text.substr(colon + 1);;) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    const std::size_t equal = word.find('=');
    const std::string_view key = word.substr(0, equal);
    const std::string_view value =
        equal == std::string_view::npos ? std::string_view() : word.substr(equal + 1);
    if (word == "preemptible") {
      wish.rules.preemptible = true;
    } else if (equal == std::string_view::npos || key.empty()) {
      return bad("it is KIND or KIND:KEY=VALUE,KEY=VALUE");
    } else if (key == "name") {
      if (!IsPoolName(value)) {
        return bad("a name has up to 24 letters, digits and dashes, and begins with a letter");
      }
      wish.name = value;
    } else if (key == "price") {
      double& price = wish.rules.core_price;
      if (!ReadNumber(value, price) || !std::isfinite(price) || price <= 0) {
        return bad("price is what a core costs an hour, for example 0.012");
      }
    } else if (key == "most") {
      if (!ReadNumber(value, wish.rules.most) || wish.rules.most < 1) {
        return bad("most is a number of workers");
      }
    } else if (key == "preemptible") {
      return bad("preemptible has no value");
    } else {
      wish.settings.emplace_back(key, value);
    }
    if (comma == std::string_view::npos) return wish;
    rest = rest.substr(comma + 1);
  }
}

Result<std::vector<PoolWish>> InOrder(PoolsWish wish) {
  std::set<std::string> names;
  bool on_demand = false, marked_as_coordinator = false;
  for (PoolWish& each : wish.pools) {
    if (each.rules.core_price <= 0) each.rules.core_price = wish.core_price;
    if (!names.insert(each.shown_name()).second) {
      return InvalidArgument("two pools are called " + each.shown_name() + ": say --pool " +
                             each.kind + ":name=NAME");
    }
    if (each.kind == "static" && wish.pools.size() > 1) {
      return InvalidArgument("--pool static starts no workers, so it is not one of several pools");
    }
    on_demand = on_demand || !each.rules.preemptible;
    if (!each.name.empty()) continue;
    if (marked_as_coordinator) each.name = each.kind;
    marked_as_coordinator = true;
  }
  const auto known = [](const PoolWish& each) { return each.rules.core_price > 0; };
  const auto without = std::ranges::find_if_not(wish.pools, known);
  const bool all = without == wish.pools.end();
  if (!all && std::ranges::any_of(wish.pools, known)) {
    return InvalidArgument("pool " + without->shown_name() +
                           " has no price, and others have: say price=..., or --core-price");
  }
  if (wish.on_demand_at_least > 0 && !on_demand) {
    return InvalidArgument("--on-demand-at-least needs a pool that is not pre-emptible");
  }
  if (all) {
    std::ranges::stable_sort(wish.pools, {},
                             [](const PoolWish& each) { return each.rules.core_price; });
  }
  return std::move(wish.pools);
}

}  // namespace headrace::coordinator
