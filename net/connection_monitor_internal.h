#pragma once

#include <memory>

#include "base/result.h"
#include "net/context_internal.h"

namespace headrace::net {

// Hears from ZeroMQ when a connecting socket's connection ends: the kernel says at once that the other
// process closed it or died. ZeroMQ itself only tries to connect again. One thread, the socket's.
class ConnectionMonitor {
 public:
  // Watches the ZeroMQ socket, before it connects. kUnavailable: no room for one more socket.
  static Result<std::unique_ptr<ConnectionMonitor>> Watch(std::shared_ptr<Context> context,
                                                          void* socket);
  ~ConnectionMonitor();
  ConnectionMonitor(const ConnectionMonitor&) = delete;
  ConnectionMonitor& operator=(const ConnectionMonitor&) = delete;

  // Readable when there may be news; edge-triggered, as ZmqSocket::fd.
  [[nodiscard]] int fd() const { return fd_; }
  // Whether a connection ended since the last call.
  [[nodiscard]] bool TakeEnded();

 private:
  ConnectionMonitor(std::shared_ptr<Context> context, void* events)
      : context_(std::move(context)), events_(events) {}

  const std::shared_ptr<Context> context_;
  void* events_;  // what ZeroMQ tells of the socket
  int fd_ = -1;
};

}  // namespace headrace::net
