#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace headrace {

// A setting that users may give to one component: a kind of pool, a cache tier.
struct Setting {
  enum class Kind : std::uint8_t {
    kText,
    kCount,  // a whole number, 0 or more
    kBytes,  // "4096", "64M", "2G": powers of 1024
  };
  std::string name;  // "stop-grace-ms": words with dashes, the unit last
  Kind kind = Kind::kText;
  std::string value;  // the default
  std::string help;   // a phrase
};

// {name, value} pairs as the user wrote them.
using GivenSettings = std::vector<std::pair<std::string, std::string>>;

// The settings of one component, each with its value. A value; thread-compatible.
class Settings {
 public:
  Settings() = default;
  // If a setting is given more than once, the last value counts. kInvalidArgument: no such setting,
  // or a value of another kind.
  static Result<Settings> Make(const std::vector<Setting>& known, const GivenSettings& given);

  // REQUIRES: the component has such a setting, of this kind.
  [[nodiscard]] std::int64_t Count(std::string_view name) const;
  [[nodiscard]] std::uint64_t Bytes(std::string_view name) const;
  [[nodiscard]] const std::string& Text(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace headrace
