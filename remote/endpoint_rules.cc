#include "remote/endpoint_rules.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace headrace::remote {
namespace {

struct Range4 {
  std::uint32_t network;
  int bits;
};
constexpr std::uint32_t Ip(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}
constexpr Range4 kInternal4[] = {
    {Ip(0, 0, 0, 0), 8},           // "this host"
    {Ip(127, 0, 0, 0), 8},         // loopback
    {Ip(169, 254, 0, 0), 16},      // link-local, and the metadata of most clouds
    {Ip(192, 0, 0, 0), 24},        // protocol assignments; Oracle's metadata
    {Ip(100, 100, 100, 200), 32},  // Alibaba's metadata
    {Ip(168, 63, 129, 16), 32},    // Azure's
    {Ip(224, 0, 0, 0), 4},         // multicast
    {Ip(240, 0, 0, 0), 4},         // reserved, broadcast
};

bool IsInternal4(std::uint32_t address) {
  return std::ranges::any_of(kInternal4, [&](const Range4& range) {
    return (address ^ range.network) >> (32 - range.bits) == 0;
  });
}

std::uint32_t Embedded(const std::uint8_t* bytes) {
  return Ip(bytes[0], bytes[1], bytes[2], bytes[3]);
}

bool Begins(const std::uint8_t* address, std::initializer_list<std::uint8_t> with) {
  return std::equal(with.begin(), with.end(), address);
}

bool IsInternal6(const std::uint8_t* a) {
  if (Begins(a, {0xfe}) && (a[1] & 0x80) != 0) return true;  // link-local, site-local
  if (a[0] == 0xff) return true;                             // multicast
  // IPv4 in it: mapped, compatible (with :: and ::1), translated, 6to4, Teredo.
  if (Begins(a, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})) return true;
  if (Begins(a, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff})) return IsInternal4(Embedded(a + 12));
  if (Begins(a, {0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0})) return IsInternal4(Embedded(a + 12));
  if (Begins(a, {0x00, 0x64, 0xff, 0x9b})) return IsInternal4(Embedded(a + 12));
  if (Begins(a, {0x20, 0x02})) return IsInternal4(Embedded(a + 2));
  if (Begins(a, {0x20, 0x01, 0, 0})) return true;
  // Metadata of AWS (fd00:ec2::254) and Google (fd20:ce::254).
  return Begins(a, {0xfd, 0x00, 0x0e, 0xc2}) || Begins(a, {0xfd, 0x20, 0x00, 0xce});
}

bool IsAws(std::string_view host) {
  return host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
}

bool IsGcs(std::string_view host) {
  return host == "storage.googleapis.com" || host.ends_with(".storage.googleapis.com");
}

// The default port of TLS: whom its certificate names answers.
bool IsPublic(const ObjectUrl& url) { return url.tls && url.port == 443; }

}  // namespace

bool IsInternalAddress(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, &address, sizeof(in));
    return IsInternal4(ntohl(in.sin_addr.s_addr));
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 in;
    std::memcpy(&in, &address, sizeof(in));
    return IsInternal6(in.sin6_addr.s6_addr);
  }
  return true;  // a Unix socket, say
}

Result<EndpointRules> EndpointRules::Make(const std::vector<std::string>& allowed) {
  EndpointRules rules;
  for (const std::string& text : allowed) {
    if (text.find("://") != std::string::npos) {
      HR_TRY(const ObjectUrl url, ObjectUrl::Parse(text));
      if (url.path != "/" || !url.query.empty()) {
        return InvalidArgument(url.Name() + " is no endpoint: it has a path");
      }
      rules.allowed_.emplace_back(url.host, url.port);
      continue;
    }
    // An IPv6 address is written in brackets, as in URLs.
    const Result<ObjectUrl> url = ObjectUrl::Parse(std::string("https://").append(text));
    if (!url.ok() || url->path != "/" || !url->query.empty() || text.ends_with('/')) {
      return InvalidArgument("'" + text + "' is no endpoint: HOST or HOST:PORT");
    }
    const bool has_port =
        text.find(':', text.find(']') == std::string::npos ? 0 : text.find(']')) !=
        std::string::npos;
    rules.allowed_.emplace_back(url->host, has_port ? url->port : std::uint16_t{0});
  }
  return rules;
}

bool EndpointRules::Names(const ObjectUrl& url) const {
  return std::ranges::any_of(allowed_, [&](const auto& one) {
    const auto& [host, port] = one;
    if (port != 0 && port != url.port) return false;
    return host.starts_with('.') ? url.host.ends_with(host) : url.host == host;
  });
}

bool EndpointRules::MaySign(const ObjectUrl& url) const {
  return Names(url) || (IsPublic(url) && (IsAws(url.host) || IsGcs(url.host)));
}

bool EndpointRules::MaySign(const ObjectUrl& url, std::string_view key_id) const {
  if (!MaySign(url)) return false;
  return Names(url) || !IsGcs(url.host) || key_id.starts_with("GOOG");
}

}  // namespace headrace::remote
