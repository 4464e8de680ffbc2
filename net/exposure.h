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

// Says whether `endpoint` is ipc:// with an abstract name, for which no file has a mode. Pure.
[[nodiscard]] bool IsAbstract(std::string_view endpoint);

// Says whether `bound`, the address that a server got, is of the loopback interface, though `given`
// does not say so. Other hosts then do not reach it. Pure.
[[nodiscard]] bool LoopbackInstead(std::string_view given, std::string_view bound);

// kInvalidArgument, with the remedy, if strangers would reach `endpoint` and the user has not said
// --insecure: other hosts, where no `keys` keep them out, or other users by an abstract name. Pure.
[[nodiscard]] Status CheckExposure(const std::string& endpoint, bool keys, bool insecure);

// The address of this host from which it reaches `endpoint` (tcp://HOST:PORT), as part of an
// endpoint: "10.0.0.7" or "[fe80::1]". Asks the name service and the routing table, and sends
// nothing. kUnavailable: the name is not known, or no route leads there; that may change.
// kInvalidArgument: the endpoint is malformed or no tcp address, for good.
[[nodiscard]] Result<std::string> AddressTowards(const std::string& endpoint);

}  // namespace headrace::net
