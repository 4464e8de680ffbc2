#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "net/connection_monitor_internal.h"
#include "net/context_internal.h"
#include "net/reactor.h"
#include "zmq.hpp"

namespace headrace::net {

enum class SocketKind { kRouter, kDealer };

// A ZeroMQ socket that enforces limits, encodes and verifies. It does not know the reactor's loop.
// One thread.
class ZmqSocket {
 public:
  // `most_unsent`: see SocketEvents.
  static Result<std::unique_ptr<ZmqSocket>> Bind(std::shared_ptr<Context> context,
                                                 const std::string& endpoint,
                                                 std::size_t most_unsent);
  // `watched`: the end of the connection is told, unless the address is inproc://.
  static Result<std::unique_ptr<ZmqSocket>> Connect(std::shared_ptr<Context> context,
                                                    const std::string& endpoint, wire::Role server,
                                                    bool watched);
  ~ZmqSocket();
  ZmqSocket(const ZmqSocket&) = delete;
  ZmqSocket& operator=(const ZmqSocket&) = delete;

  [[nodiscard]] Status Send(std::string_view peer, const wire::Body& body,
                            std::vector<PayloadFrame> payload);

  enum class Received { kMessage, kInvalid, kNothing };
  // kMessage fills `message`; kInvalid fills `message.peer` and `error`.
  [[nodiscard]] Received Receive(Incoming& message, Status& error);

  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
  // Readable when there may be something to receive. It is edge-triggered: receive until kNothing,
  // and again after each Send.
  [[nodiscard]] int fd() const { return fd_; }
  // Tells when the connection ends; nullptr: it is not watched.
  [[nodiscard]] ConnectionMonitor* monitor() const { return monitor_.get(); }

 private:
  // Bytes that ZeroMQ has not sent yet. Its I/O threads subtract what they sent.
  using Counter = std::atomic<std::size_t>;
  struct FrameHolder;

  ZmqSocket(std::shared_ptr<Context> context, SocketKind kind, void* socket);
  static Result<std::unique_ptr<ZmqSocket>> Open(std::shared_ptr<Context> context, SocketKind kind,
                                                 const std::string& endpoint);
  void Set(int option, int value);
  void Set(int option, const std::string& value);
  // Has the socket use the context's keys.
  Status Guard(const std::string& endpoint, wire::Role server);
  // The role of who sent the frame; nullopt: its connection was not admitted by us.
  [[nodiscard]] std::optional<wire::Role> RoleOf(zmq::message_t& frame) const;
  // Whether who sent the frame is a process of this user on this host, by the kernel's word.
  [[nodiscard]] bool IsFromThisUser(zmq::message_t& frame) const;
  [[nodiscard]] std::shared_ptr<Counter> CounterOf(std::string_view peer);
  void ForgetIdlePeers();
  void Fill(zmq_msg_t* frame, PayloadFrame payload, const std::shared_ptr<Counter>& counter) const;
  static void Release(void* data, void* hint) noexcept;
  [[nodiscard]] bool ReceiveFrames();

  const std::shared_ptr<Context> context_;
  const SocketKind kind_;
  void* socket_;
  std::unique_ptr<ConnectionMonitor> monitor_;
  int fd_ = -1;
  bool guarded_ = false;
  wire::Role server_ = wire::Role::kLocal;  // DEALER with keys: the role of the other side
  std::string endpoint_;
  std::unordered_map<std::string, std::shared_ptr<Counter>> counters_;
  std::size_t most_unsent_ = SIZE_MAX;
  const std::shared_ptr<Counter> total_ = std::make_shared<Counter>(0);  // of all peers
  std::vector<zmq::message_t> frames_;  // frames of the message being received
  bool too_many_frames_ = false;
};

}  // namespace headrace::net
