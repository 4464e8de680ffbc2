#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace headrace::net {

// Why `endpoint` could not be bound or connected, with a remedy.
[[nodiscard]] Status EndpointError(int error_number, const std::string& endpoint);

// kInvalidArgument unless it is tcp://HOST:PORT, ipc://PATH or inproc://NAME.
[[nodiscard]] Status CheckEndpoint(std::string_view endpoint);

// Whether a process listens on the AF_UNIX socket at `path` (of SOCK_STREAM or SOCK_SEQPACKET).
[[nodiscard]] bool UnixSocketIsServed(const std::string& path, int type);

// kUnavailable when another process serves the ipc:// endpoint; ZeroMQ would take its path away.
[[nodiscard]] Status CheckIpcPathIsFree(std::string_view endpoint);

}  // namespace headrace::net
