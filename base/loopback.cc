#include "base/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace headrace {
namespace {

bool IsOwn4(std::uint32_t address) {
  return address >> 24 == 127 || address >> 24 == 0 || address >> 16 == 0xa9fe;
}

}  // namespace

bool IsOwnHost(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  if (host == "localhost" || host.ends_with(".localhost")) return true;
  const std::string text(host);
  in_addr four{};
  // Takes "127.1", "0x7f.1" and "2130706433" too, as resolvers do.
  if (::inet_aton(text.c_str(), &four) == 1) return IsOwn4(ntohl(four.s_addr));
  in6_addr six{};
  if (::inet_pton(AF_INET6, text.c_str(), &six) != 1) return false;
  if (IN6_IS_ADDR_V4MAPPED(&six) || IN6_IS_ADDR_V4COMPAT(&six)) {
    std::uint32_t embedded = 0;
    std::memcpy(&embedded, six.s6_addr + 12, sizeof(embedded));
    return IsOwn4(ntohl(embedded));
  }
  return IN6_IS_ADDR_LOOPBACK(&six) || IN6_IS_ADDR_UNSPECIFIED(&six) || IN6_IS_ADDR_LINKLOCAL(&six);
}

}  // namespace headrace
