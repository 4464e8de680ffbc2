#include "net/exposure.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/unique_fd.h"
#include "net/endpoint_internal.h"

namespace headrace::net {
namespace {

constexpr std::string_view kTcpScheme = "tcp://";

// HOST of tcp://HOST:PORT, without the brackets of an IPv6 address.
std::string_view HostOf(std::string_view endpoint) {
  std::string_view host = endpoint.substr(kTcpScheme.size());
  host = host.substr(0, host.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

}  // namespace

bool IsLocalEndpoint(std::string_view endpoint) {
  if (!endpoint.starts_with(kTcpScheme)) return true;
  const std::string host(HostOf(endpoint));
  if (host == "localhost" || host == "lo") return true;
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

bool IsAnyAddress(std::string_view endpoint) {
  if (!endpoint.starts_with(kTcpScheme)) return false;
  const std::string_view host = HostOf(endpoint);
  return host == "*" || host == "0.0.0.0" || host == "::";
}

bool IsAbstract(std::string_view endpoint) { return endpoint.starts_with("ipc://@"); }

bool LoopbackInstead(std::string_view given, std::string_view bound) {
  return bound.starts_with(kTcpScheme) && IsLocalEndpoint(bound) && !IsLocalEndpoint(given);
}

Status CheckExposure(const std::string& endpoint, bool keys, bool insecure) {
  if (IsAbstract(endpoint) && !insecure) {
    return InvalidArgument("every user of this host reaches " + endpoint +
                           ", and keys do not guard it; listen on ipc://PATH in a directory of "
                           "mode 0700, or say --insecure");
  }
  if (keys || insecure || IsLocalEndpoint(endpoint)) return Status::Ok();
  return InvalidArgument("other hosts reach " + endpoint +
                         ", and whoever does can run code here; make keys with `headrace keys DIR` "
                         "and give --keys DIR, listen on tcp://127.0.0.1:PORT, or say --insecure "
                         "where every host of the network is trusted");
}

Result<std::string> AddressTowards(const std::string& endpoint) {
  HR_RETURN_IF_ERROR(CheckEndpoint(endpoint));
  if (!endpoint.starts_with(kTcpScheme)) return InvalidArgument(endpoint + " is no tcp address");
  const std::string host(HostOf(endpoint));
  if (host == "*") return InvalidArgument(endpoint + " names no host");
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), "9", &wanted, &found); error != 0) {
    return Unavailable("host " + host + " of " + endpoint + ": " + ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  int error = 0;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    // ZeroMQ connects to IPv4 alone, unless the address is written in brackets.
    if (at->ai_family != (endpoint.find('[') == std::string::npos ? AF_INET : AF_INET6)) continue;
    const UniqueFd fd(::socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof(own);
    // Connecting a datagram socket only looks up the route.
    if (!fd.valid() || ::connect(fd.get(), at->ai_addr, at->ai_addrlen) != 0 ||
        ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) {
      error = errno;
      continue;
    }
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(reinterpret_cast<const sockaddr*>(&own), size, text.data(), text.size(),
                      nullptr, 0, NI_NUMERICHOST) != 0) {
      continue;
    }
    const std::string address = text.data();
    return own.ss_family == AF_INET6 ? "[" + address + "]" : address;
  }
  return error != 0 ? Unavailable("the way to " + endpoint + ": " + std::strerror(error))
                    : Unavailable("host " + host + " of " + endpoint + " has no IPv4 address");
}

}  // namespace headrace::net
