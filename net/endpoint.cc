#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <zmq.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/unique_fd.h"
#include "net/endpoint_internal.h"
#include "net/exposure.h"

namespace headrace::net {
namespace {

constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kIpc = "ipc://";
constexpr std::string_view kInproc = "inproc://";

Status InUse(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  if (endpoint.starts_with(kTcp) && colon != std::string::npos) {
    return Unavailable("port " + endpoint.substr(colon + 1) + " is in use by another program (" +
                       endpoint + "); choose another with --listen");
  }
  return Unavailable(endpoint + " is in use by another process; choose another with --listen");
}

Status Malformed(std::string_view endpoint) {
  return InvalidArgument("malformed address '" + std::string(endpoint) +
                         "'; write tcp://HOST:PORT or ipc:///PATH");
}

bool IsPort(std::string_view text) {
  if (text == "*") return true;
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port <= 65535;
}

}  // namespace

Status CheckEndpoint(std::string_view endpoint) {
  bool good = false;
  if (endpoint.starts_with(kTcp)) {
    const std::string_view address = endpoint.substr(kTcp.size());
    const std::size_t colon = address.rfind(':');
    good = colon != std::string_view::npos && colon > 0 && IsPort(address.substr(colon + 1));
  } else if (endpoint.starts_with(kIpc)) {
    good = endpoint.size() > kIpc.size();
  } else if (endpoint.starts_with(kInproc)) {
    good = endpoint.size() > kInproc.size();
  }
  return good ? Status::Ok() : Malformed(endpoint);
}

Status EndpointError(int error_number, const std::string& endpoint) {
  switch (error_number) {
    case EADDRINUSE:
      return InUse(endpoint);
    case EADDRNOTAVAIL:
    case ENODEV:
      return Unavailable(
          endpoint +
          " is not an address of this host; use one of its own (names are not looked up), or "
          "tcp://*:PORT");
    case EINVAL:
      return Malformed(endpoint);
    case ENAMETOOLONG:
      return InvalidArgument(endpoint +
                             " is too long for a Unix socket (107 bytes); use a shorter directory");
    case EACCES:
      return Unavailable("no permission to use " + endpoint + "; choose another with --listen");
    default:
      return Unavailable(endpoint + ": " + zmq_strerror(error_number));
  }
}

bool UnixSocketIsServed(const std::string& path, int type) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, path.data(), path.size());
  const UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return false;
  const int rc = connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  return rc == 0 || errno == EAGAIN || errno == EPROTOTYPE;  // EAGAIN: its queue is full
}

Status CheckIpcPathIsFree(std::string_view endpoint) {
  if (!endpoint.starts_with(kIpc)) return Status::Ok();
  const std::string path(endpoint.substr(kIpc.size()));
  return UnixSocketIsServed(path, SOCK_STREAM) ? InUse(std::string(endpoint)) : Status::Ok();
}

Status KeepOthersOut(const std::string& endpoint) {
  if (!endpoint.starts_with(kIpc) || IsAbstract(endpoint)) return Status::Ok();
  const std::string path = endpoint.substr(kIpc.size());
  // The umask would cover bind itself, and all threads of the process.
  return ::chmod(path.c_str(), 0600) == 0 ? Status::Ok() : ErrnoStatus(errno, path);
}

}  // namespace headrace::net
