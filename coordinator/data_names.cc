#include "coordinator/data_names.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <variant>

#include "base/loopback.h"

namespace headrace::coordinator {
namespace {

std::string TextArg(const SourceLeaf& leaf, const char* name) {
  const auto at = leaf.args.find(name);
  const auto* const text = at == leaf.args.end() ? nullptr : std::get_if<std::string>(&at->second);
  return text == nullptr ? std::string() : *text;
}

// HOST of SCHEME://HOST[:PORT][/PATH], in small letters and without brackets; empty: there is none. A
// worker reads the URL by its rules (remote::ObjectUrl). Where these two differ, an estimate is wrong.
std::string HostOf(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  std::string host(url.substr(scheme + 3));
  host.resize(std::min(host.size(), host.find('/')));
  const bool bracket = host.starts_with('[');
  host.resize(std::min(host.size(), host.find(bracket ? ']' : ':')));
  if (bracket) host.erase(0, 1);
  std::ranges::transform(host, host.begin(), [](unsigned char c) { return std::tolower(c); });
  return host;
}

bool HoldsEverywhere(const SourceLeaf& leaf) {
  const std::string endpoint = TextArg(leaf, "endpoint"), base = TextArg(leaf, "base");
  if (!endpoint.empty()) return !IsOwnHost(HostOf(endpoint));
  return base.starts_with("s3://") || !IsOwnHost(HostOf(base));
}

}  // namespace

DataNames NamesOf(std::span<const SourceLeaf> leaves) {
  const auto in_store = [](const SourceLeaf& leaf) {
    return leaf.source == "objects" || leaf.source == "object_ranges";
  };
  return {.far = std::ranges::any_of(leaves, in_store),
          .everywhere = !leaves.empty() && std::ranges::all_of(leaves, [&](const SourceLeaf& leaf) {
            return in_store(leaf) && HoldsEverywhere(leaf);
          })};
}

}  // namespace headrace::coordinator
