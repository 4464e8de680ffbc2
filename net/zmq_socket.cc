#include <unistd.h>
#include <zmq.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "net/endpoint_internal.h"
#include "net/intake.h"
#include "net/keyring.h"
#include "net/zmq_socket_internal.h"

namespace headrace::net {
namespace {

constexpr int kLingerMs = 200;
constexpr int kHandshakeMs = 5000;
constexpr int kReceiveQueueMessages = 100;     // further messages wait in the peer's memory
constexpr std::size_t kCopyBelowBytes = 1024;  // a copy costs less than an allocation and a count
constexpr std::size_t kMaxIdlePeers = 256;
// ZMQ_ZAP_ENFORCE_DOMAIN, which zmq.h shows to draft builds alone. The library knows it in any case.
constexpr int kZapEnforceDomain = 93;

// Routing id, header, body.
constexpr std::size_t kEnvelopeFrames = 3;

ByteSpan AsSpan(const zmq::message_t& frame) {
  return {static_cast<const std::byte*>(frame.data()), frame.size()};
}

}  // namespace

// Keeps a frame's bytes alive until ZeroMQ is done with them.
struct ZmqSocket::FrameHolder {
  std::shared_ptr<const void> owner;
  std::shared_ptr<Counter> counter;
  std::shared_ptr<Counter> total;
  std::size_t bytes = 0;
};

void ZmqSocket::Release(void*, void* hint) noexcept {
  const std::unique_ptr<FrameHolder> holder(static_cast<FrameHolder*>(hint));
  holder->counter->fetch_sub(holder->bytes, std::memory_order_relaxed);
  holder->total->fetch_sub(holder->bytes, std::memory_order_relaxed);
}

ZmqSocket::ZmqSocket(std::shared_ptr<Context> context, SocketKind kind, void* socket)
    : context_(std::move(context)), kind_(kind), socket_(socket) {}

ZmqSocket::~ZmqSocket() {
  if (context_->InForkedChild()) return;
  // ZeroMQ sends what it still has after this. An event of that time would find nobody who takes it, and
  // its I/O thread would wait for that for ever.
  if (monitor_) zmq_socket_monitor(socket_, nullptr, 0);
  zmq_close(socket_);
}

void ZmqSocket::Set(int option, int value) {
  HR_CHECK(zmq_setsockopt(socket_, option, &value, sizeof(value)) == 0);
}

void ZmqSocket::Set(int option, const std::string& value) {
  HR_CHECK(zmq_setsockopt(socket_, option, value.c_str(), value.size()) == 0);
}

Status ZmqSocket::Guard(const std::string& endpoint, wire::Role server) {
  const std::shared_ptr<Keyring>& keys = context_->keys();
  if (!keys || !endpoint.starts_with("tcp://")) return {};
  guarded_ = true;
  // ZeroMQ leaves a refused peer in its handshake, and the peer comes again after this time.
  Set(ZMQ_HANDSHAKE_IVL, kHandshakeMs);
  Set(ZMQ_CURVE_SECRETKEY, keys->secret_key());
  if (kind_ == SocketKind::kRouter) {
    Set(ZMQ_CURVE_SERVER, 1);
    Set(ZMQ_ZAP_DOMAIN, std::string("headrace"));
    // Otherwise libzmq admits everybody while nobody answers for admission.
    const int enforce = 1;
    if (zmq_setsockopt(socket_, kZapEnforceDomain, &enforce, sizeof(enforce)) != 0) {
      return Unsupported(
          "this libzmq cannot keep peers out while nobody answers for admission, so " + endpoint +
          " is not served with keys; install Debian's libzmq5");
    }
    return {};
  }
  const std::string expected = keys->ServerKey(server);
  if (expected.empty()) {
    return InvalidArgument("the file `allow` of the keys names no key of a " +
                           std::string(wire::RoleName(server)) + ", so " + endpoint +
                           " cannot be known");
  }
  server_ = server;
  Set(ZMQ_CURVE_PUBLICKEY, keys->public_key());
  Set(ZMQ_CURVE_SERVERKEY, expected);
  return {};
}

std::optional<wire::Role> ZmqSocket::RoleOf(zmq::message_t& frame) const {
  if (!guarded_) return wire::Role::kLocal;
  if (kind_ == SocketKind::kDealer) return server_;
  // What our admission said of the connection. A peer's own properties never replace it. Without a
  // word of ours there is none, and the message is refused.
  const char* role = zmq_msg_gets(frame.handle(), "User-Id");
  return role == nullptr ? std::nullopt : wire::ParseRole(role);
}

// ZeroMQ appends ":user:group:process" to the address of a Unix socket's peer, from SO_PEERCRED.
bool ZmqSocket::IsFromThisUser(zmq::message_t& frame) const {
  if (!endpoint_.starts_with("ipc://")) return false;
  const char* address = zmq_msg_gets(frame.handle(), "Peer-Address");
  if (address == nullptr) return false;
  const std::string_view text(address);
  const std::size_t process = text.rfind(':');
  const std::size_t group = process == text.npos ? text.npos : text.rfind(':', process - 1);
  const std::size_t user = group == text.npos ? text.npos : text.rfind(':', group - 1);
  return user != text.npos &&
         text.substr(user + 1, group - user - 1) == std::to_string(::geteuid());
}

Result<std::unique_ptr<ZmqSocket>> ZmqSocket::Open(std::shared_ptr<Context> context,
                                                   SocketKind kind, const std::string& endpoint) {
  HR_RETURN_IF_ERROR(CheckEndpoint(endpoint));
  void* handle =
      zmq_socket(context->handle(), kind == SocketKind::kRouter ? ZMQ_ROUTER : ZMQ_DEALER);
  if (handle == nullptr) return ErrnoStatus(errno, "cannot make a socket for " + endpoint);
  std::unique_ptr<ZmqSocket> socket(new ZmqSocket(std::move(context), kind, handle));
  socket->Set(ZMQ_LINGER, kLingerMs);
  socket->Set(ZMQ_SNDHWM, static_cast<int>(kMaxQueuedMessages));
  socket->Set(ZMQ_RCVHWM, kReceiveQueueMessages);
  socket->Set(ZMQ_TCP_KEEPALIVE, 1);
  socket->Set(ZMQ_TCP_KEEPALIVE_IDLE, 10);
  socket->Set(ZMQ_TCP_KEEPALIVE_INTVL, 5);
  socket->Set(ZMQ_TCP_KEEPALIVE_CNT, 3);
  socket->Set(ZMQ_RECONNECT_IVL, 50);
  socket->Set(ZMQ_RECONNECT_IVL_MAX, 2000);
  socket->Set(ZMQ_BACKLOG, 1024);
  socket->Set(ZMQ_IPV6, endpoint.find('[') != std::string::npos);
  if (kind == SocketKind::kRouter) {
    socket->Set(ZMQ_ROUTER_MANDATORY, 1);
    // A peer that connects and then says nothing has its descriptor for so long.
    socket->Set(ZMQ_HANDSHAKE_IVL, kHandshakeMs);
  }
  const std::int64_t max_frame = kMaxFrameBytes;
  HR_CHECK(zmq_setsockopt(handle, ZMQ_MAXMSGSIZE, &max_frame, sizeof(max_frame)) == 0);
  std::size_t size = sizeof(socket->fd_);
  HR_CHECK(zmq_getsockopt(handle, ZMQ_FD, &socket->fd_, &size) == 0);
  return socket;
}

Result<std::unique_ptr<ZmqSocket>> ZmqSocket::Bind(std::shared_ptr<Context> context,
                                                   const std::string& endpoint,
                                                   std::size_t most_unsent) {
  HR_RETURN_IF_ERROR(CheckIpcPathIsFree(endpoint));
  HR_TRY(auto socket, Open(std::move(context), SocketKind::kRouter, endpoint));
  socket->most_unsent_ = most_unsent;
  HR_RETURN_IF_ERROR(socket->Guard(endpoint, wire::Role::kLocal));
  if (zmq_bind(socket->socket_, endpoint.c_str()) != 0) return EndpointError(errno, endpoint);
  std::array<char, 512> actual{};
  std::size_t size = actual.size();
  HR_CHECK(zmq_getsockopt(socket->socket_, ZMQ_LAST_ENDPOINT, actual.data(), &size) == 0);
  socket->endpoint_ = actual.data();
  HR_RETURN_IF_ERROR(KeepOthersOut(socket->endpoint_));
  return socket;
}

Result<std::unique_ptr<ZmqSocket>> ZmqSocket::Connect(std::shared_ptr<Context> context,
                                                      const std::string& endpoint,
                                                      wire::Role server, bool watched) {
  HR_TRY(auto socket, Open(std::move(context), SocketKind::kDealer, endpoint));
  HR_RETURN_IF_ERROR(socket->Guard(endpoint, server));
  if (watched && !endpoint.starts_with("inproc://")) {
    auto monitor = ConnectionMonitor::Watch(socket->context_, socket->socket_);
    if (monitor.ok()) {
      socket->monitor_ = std::move(monitor).value();
    } else {  // silence tells, too, only later
      LogWarning(monitor.status().ToString());
    }
  }
  if (zmq_connect(socket->socket_, endpoint.c_str()) != 0) return EndpointError(errno, endpoint);
  return socket;
}

std::shared_ptr<ZmqSocket::Counter> ZmqSocket::CounterOf(std::string_view peer) {
  if (counters_.size() > kMaxIdlePeers) ForgetIdlePeers();
  auto& counter = counters_[std::string(peer)];
  if (!counter) counter = std::make_shared<Counter>(0);
  return counter;
}

void ZmqSocket::ForgetIdlePeers() {
  std::erase_if(counters_, [](const auto& entry) { return entry.second->load() == 0; });
}

void ZmqSocket::Fill(zmq_msg_t* frame, PayloadFrame payload,
                     const std::shared_ptr<Counter>& counter) const {
  const std::size_t size = payload.data.size();
  if (size < kCopyBelowBytes || !payload.owner) {
    HR_CHECK(zmq_msg_init_size(frame, size) == 0);
    if (size != 0) std::memcpy(zmq_msg_data(frame), payload.data.data(), size);
    return;
  }
  counter->fetch_add(size, std::memory_order_relaxed);
  total_->fetch_add(size, std::memory_order_relaxed);
  auto* holder = new FrameHolder{std::move(payload.owner), counter, total_, size};
  // ZeroMQ only reads these bytes.
  auto* data = const_cast<std::byte*>(payload.data.data());
  HR_CHECK(zmq_msg_init_data(frame, data, size, &ZmqSocket::Release, holder) == 0);
}

Status ZmqSocket::Send(std::string_view peer, const wire::Body& body,
                       std::vector<PayloadFrame> payload) {
  wire::EncodedMessage message = wire::Encode(body);
  std::size_t bytes = message.body.size();
  bool frames_fit = bytes <= wire::kMaxBodyBytes && payload.size() <= wire::kMaxPayloadFrames;
  for (const PayloadFrame& part : payload) {
    bytes += part.data.size();
    frames_fit &= part.data.size() <= kMaxFrameBytes;
  }
  if (!frames_fit) {
    return InvalidArgument("message of " + std::to_string(message.body.size()) + " bytes and " +
                           std::to_string(payload.size()) + " payload frames is over the limits");
  }
  const std::shared_ptr<Counter> counter = CounterOf(peer);
  const bool router = kind_ == SocketKind::kRouter;
  const std::size_t limit = router ? kMaxRouterQueuedBytes : kMaxDealerQueuedBytes;
  const std::size_t queued = counter->load(std::memory_order_relaxed);
  if (queued != 0 && queued + bytes > limit) {
    return Unavailable("the peer does not read: " + std::to_string(queued) + " bytes wait for it");
  }
  // Many that do not read have a bound together. Who reads has nothing waiting.
  const std::size_t total = total_->load(std::memory_order_relaxed);
  if (queued != 0 && total + bytes > most_unsent_) {
    return Unavailable("peers do not read: " + std::to_string(total) + " bytes wait for them, " +
                       std::to_string(queued) + " for this one");
  }

  // Once the first frame is accepted, all others must follow, or the next message is cut.
  bool sent = true;
  auto send = [&](PayloadFrame frame, bool more) {
    zmq_msg_t out;
    Fill(&out, std::move(frame), counter);
    if (zmq_msg_send(&out, socket_, ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) >= 0) return true;
    const int error = errno;
    zmq_msg_close(&out);
    errno = error;
    return false;
  };
  const PayloadFrame header{.data = message.header, .owner = nullptr};
  if (router ? !send({AsBytes(peer), nullptr}, true) : !send(header, true)) {
    if (errno == EAGAIN) return Unavailable("the queue to the peer is full");
    counters_.erase(std::string(peer));
    return {router ? Code::kNotFound : Code::kUnavailable,
            std::string("the peer is gone: ") + zmq_strerror(errno)};
  }
  if (router) sent &= send(header, true);
  auto owned = std::make_shared<const Bytes>(std::move(message.body));
  const ByteSpan span = *owned;
  sent &= send({span, std::move(owned)}, !payload.empty());
  for (std::size_t i = 0; i < payload.size(); ++i) {
    const bool more = i + 1 < payload.size();
    sent &= send(std::move(payload[i]), more);
  }
  return sent ? Status::Ok() : Unavailable("the peer went while it was sent to");
}

bool ZmqSocket::ReceiveFrames() {
  frames_.clear();
  too_many_frames_ = false;
  std::size_t count = 0;
  bool more = true;
  while (more) {
    zmq::message_t frame;
    int rc;
    do {
      rc = zmq_msg_recv(frame.handle(), socket_, ZMQ_DONTWAIT);
    } while (rc < 0 && errno == EINTR);
    if (rc < 0) return false;
    more = frame.more();
    if (frames_.size() < wire::kMaxPayloadFrames + kEnvelopeFrames) {
      frames_.push_back(std::move(frame));
    } else {
      too_many_frames_ = true;
    }
    ++count;
  }
  if (kind_ == SocketKind::kRouter && Intake::Process().open()) {
    // Of a connection; the routing id is of ZeroMQ's own making.
    const int connection = zmq_msg_get(frames_.back().handle(), ZMQ_SRCFD);
    if (connection >= 0) Intake::Process().HandedOn(connection, count - 1);
  }
  return true;
}

ZmqSocket::Received ZmqSocket::Receive(Incoming& message, Status& error) {
  if (!ReceiveFrames()) return Received::kNothing;
  std::size_t next = 0;
  if (kind_ == SocketKind::kRouter) message.peer = AsText(AsSpan(frames_[next++]));
  if (too_many_frames_ || frames_.size() < next + 2) {
    error = InvalidArgument("message of " + std::to_string(frames_.size() - next) + " frames");
    return Received::kInvalid;
  }
  Result<wire::Body> body = wire::Decode(AsSpan(frames_[next]), AsSpan(frames_[next + 1]));
  next += 2;
  if (!body.ok()) {
    error = body.status();
    return Received::kInvalid;
  }
  const std::optional<wire::Role> role = RoleOf(frames_[next - 2]);
  const wire::MessageType type = wire::TypeOf(*body);
  if (!role || !wire::MaySend(*role, type)) {
    error = InvalidArgument("a key of the role " +
                            std::string(role ? wire::RoleName(*role) : "unknown") +
                            " may not send " + std::string(wire::MessageName(type)));
    return Received::kInvalid;
  }
  message.role = *role;
  message.from_this_user = IsFromThisUser(frames_[next - 2]);
  message.body = std::move(*body);
  if (next < frames_.size()) {
    auto owner = std::make_shared<std::vector<zmq::message_t>>(
        std::make_move_iterator(frames_.begin() + static_cast<std::ptrdiff_t>(next)),
        std::make_move_iterator(frames_.end()));
    message.payload.reserve(owner->size());
    for (const zmq::message_t& frame : *owner) message.payload.push_back(AsSpan(frame));
    message.payload_owner = std::move(owner);
  }
  return Received::kMessage;
}

}  // namespace headrace::net
