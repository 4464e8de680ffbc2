#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

// Who can reach an address, and whether a server may listen there.
namespace headrace::net {

// Says whether only processes of this host reach `endpoint`: a Unix socket, an inproc name, or an
// address of the loopback interface. A host name counts as remote, except "localhost". Pure.
[[nodiscard]] bool IsLocalEndpoint(std::string_view endpoint);

// Says whether `endpoint` is tcp:// on all addresses of this host. Pure.
[[nodiscard]] bool IsAnyAddress(std::string_view endpoint);

// kInvalidArgument, with the remedy, if other hosts would reach `endpoint` and neither `keys` keep
// strangers out nor the user has said --insecure. Pure.
[[nodiscard]] Status CheckExposure(const std::string& endpoint, bool keys, bool insecure);

// The address of this host from which it reaches `endpoint` (tcp://HOST:PORT), as part of an
// endpoint: "10.0.0.7" or "[fe80::1]". Asks the name service and the routing table, and sends
// nothing. kUnavailable: the name is not known, or no route leads there.
[[nodiscard]] Result<std::string> AddressTowards(const std::string& endpoint);

}  // namespace headrace::net
