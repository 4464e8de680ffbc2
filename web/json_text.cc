#include "web/json_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace headrace::web {
namespace {

template <typename T>
void Append(std::string& to, T value) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  to.append(text.data(), end);
}

}  // namespace

void AppendNumber(std::string& to, double value) {
  if (!std::isfinite(value)) {
    to += "null";
  } else {
    Append(to, value);
  }
}
void AppendNumber(std::string& to, std::int64_t value) { Append(to, value); }
void AppendNumber(std::string& to, std::uint64_t value) { Append(to, value); }

void AppendText(std::string& to, std::string_view text) {
  bool simple = true;
  for (const char each : text) {
    simple = simple && each >= ' ' && each <= '~' && each != '"' && each != '\\';
  }
  if (simple) {
    to += '"';
    to += text;
    to += '"';
    return;
  }
  using Json = nlohmann::json;
  to += Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

double Rounded(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int places = digits - 1 - static_cast<int>(std::floor(std::log10(std::abs(value))));
  if (places < -15 || places > 15) return value;
  // By a whole power of ten, so that 0.3 is not 0.30000000000000004.
  const double power = std::pow(10.0, std::abs(places));
  return places >= 0 ? std::round(value * power) / power : std::round(value / power) * power;
}

}  // namespace headrace::web
