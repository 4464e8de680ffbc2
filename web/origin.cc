#include "web/origin.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <system_error>

namespace headrace::web {
namespace {

bool AreDigits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Without the port, and without the brackets of an IPv6 address. Empty: it has no such form.
std::string_view NameOf(std::string_view host) {
  const bool six = host.starts_with('[');
  const std::size_t end = std::min(six ? host.find(']') : host.find(':'), host.size());
  if (six && end == host.size()) return {};
  const std::string_view port = host.substr(six ? end + 1 : end);
  if (!port.empty() && (!port.starts_with(':') || !AreDigits(port.substr(1)))) return {};
  return six ? host.substr(1, end - 1) : host.substr(0, end);
}

bool SameName(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool IsAddress(std::string_view name) {
  in6_addr into{};
  const std::string text(name);
  return ::inet_pton(AF_INET, text.c_str(), &into) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), &into) == 1;
}

}  // namespace

bool NamesThisHost(std::string_view host, std::string_view listens) {
  const std::string_view name = NameOf(host);
  if (name.empty() || name.find('\0') != std::string_view::npos) return false;
  return SameName(name, "localhost") || IsAddress(name) || SameName(name, NameOf(listens));
}

bool FromOwnPage(std::string_view origin, std::string_view fetch_site, std::string_view host) {
  if (!fetch_site.empty() && fetch_site != "same-origin") return false;
  if (origin.empty()) return true;
  // A proxy may add TLS, so either scheme.
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme))
      return !host.empty() && SameName(origin.substr(scheme.size()), host);
  }
  return false;
}

std::optional<Target> ReadTarget(std::string_view rest) {
  constexpr std::size_t kMostDigits = 18;  // below 2^63
  // Up to the next '/', which is taken, too; nullopt: nothing is left.
  const auto next = [&rest]() -> std::optional<std::string_view> {
    if (rest.empty()) return std::nullopt;
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, end);
    const bool last = end == rest.size();
    rest.remove_prefix(last ? end : end + 1);
    return rest.empty() && !last ? std::string_view() : part;  // "1/" has a part too many
  };
  Target target;
  const std::string_view id = next().value_or("");
  if (!AreDigits(id) || id.size() > kMostDigits) return std::nullopt;
  std::from_chars(id.data(), id.data() + id.size(), target.id);
  if (const auto verb = next()) {
    target.verb = *verb;
    const bool word =
        !verb->empty() && std::ranges::all_of(*verb, [](char c) { return c >= 'a' && c <= 'z'; });
    if (!word) return std::nullopt;
  }
  if (const auto value = next()) {
    std::int32_t number = 0;
    const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
    if (error != std::errc() || end != value->data() + value->size()) return std::nullopt;
    target.value = number;
  }
  return rest.empty() ? std::optional(target) : std::nullopt;
}

bool HasTag(std::string_view if_none_match, std::string_view tag) {
  while (!if_none_match.empty()) {
    const std::size_t end = std::min(if_none_match.find(','), if_none_match.size());
    std::string_view each = if_none_match.substr(0, end);
    while (each.starts_with(' ')) each.remove_prefix(1);
    while (each.ends_with(' ')) each.remove_suffix(1);
    if (each.starts_with("W/")) each.remove_prefix(2);
    if (each == tag) return true;
    if_none_match.remove_prefix(std::min(end + 1, if_none_match.size()));
  }
  return false;
}

}  // namespace headrace::web
