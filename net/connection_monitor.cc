#include <zmq.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "net/connection_monitor_internal.h"

namespace headrace::net {
namespace {

// Of its context; several may be in one.
std::string NextAddress() {
  static std::atomic<std::uint64_t> last{0};
  return "inproc://headrace-monitor-" + std::to_string(++last);
}

}  // namespace

Result<std::unique_ptr<ConnectionMonitor>> ConnectionMonitor::Watch(
    std::shared_ptr<Context> context, void* socket) {
  const std::string address = NextAddress();
  if (zmq_socket_monitor(socket, address.c_str(), ZMQ_EVENT_DISCONNECTED) != 0) {
    return Unavailable(std::string("a connection cannot be watched: ") + zmq_strerror(errno));
  }
  void* events = zmq_socket(context->handle(), ZMQ_PAIR);
  if (events == nullptr) {
    const int error = errno;
    zmq_socket_monitor(socket, nullptr, 0);
    return Unavailable(std::string("a connection cannot be watched: ") + zmq_strerror(error));
  }
  std::unique_ptr<ConnectionMonitor> monitor(new ConnectionMonitor(std::move(context), events));
  const int none = 0;
  HR_CHECK(zmq_setsockopt(events, ZMQ_LINGER, &none, sizeof(none)) == 0);
  HR_CHECK(zmq_connect(events, address.c_str()) == 0);
  std::size_t size = sizeof(monitor->fd_);
  HR_CHECK(zmq_getsockopt(events, ZMQ_FD, &monitor->fd_, &size) == 0);
  // Until it was read once, ZeroMQ takes the reader for awake and signals nothing.
  (void)monitor->TakeEnded();
  return monitor;
}

ConnectionMonitor::~ConnectionMonitor() {
  if (!context_->InForkedChild()) zmq_close(events_);
}

// An event is a frame with its number (16 bits) and value, and one with the address.
bool ConnectionMonitor::TakeEnded() {
  bool ended = false;
  for (bool first = true;;) {
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    const int received = zmq_msg_recv(&frame, events_, ZMQ_DONTWAIT);
    if (received < 0) {
      const bool again = errno == EINTR;
      zmq_msg_close(&frame);
      if (again) continue;
      return ended;
    }
    std::uint16_t event = 0;
    if (first && zmq_msg_size(&frame) >= sizeof(event)) {
      std::memcpy(&event, zmq_msg_data(&frame), sizeof(event));
      ended |= event == ZMQ_EVENT_DISCONNECTED;
    }
    first = zmq_msg_more(&frame) == 0;
    zmq_msg_close(&frame);
  }
}

}  // namespace headrace::net
