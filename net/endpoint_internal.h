#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace headrace::net {

// Says why `endpoint` could not be bound or connected, with a remedy.
[[nodiscard]] Status EndpointError(int error_number, const std::string& endpoint);

// kInvalidArgument unless `endpoint` is tcp://HOST:PORT, ipc://PATH or inproc://NAME.
[[nodiscard]] Status CheckEndpoint(std::string_view endpoint);

// Says whether a process listens on the AF_UNIX socket at `path` (SOCK_STREAM or SOCK_SEQPACKET).
[[nodiscard]] bool UnixSocketIsServed(const std::string& path, int type);

// kUnavailable if another process serves the ipc:// endpoint, since ZeroMQ would take its path
// away.
[[nodiscard]] Status CheckIpcPathIsFree(std::string_view endpoint);

// Gives the path of a bound ipc:// endpoint mode 0600, so that only its user (and root) connects.
// Does nothing for other endpoints and abstract names.
[[nodiscard]] Status KeepOthersOut(const std::string& endpoint);

}  // namespace headrace::net
