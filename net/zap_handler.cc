#include <zmq.h>

#include <array>
#include <cerrno>
#include <optional>

#include "base/log.h"
#include "net/keyring.h"
#include "net/zap_handler_internal.h"

namespace headrace::net {
namespace {

constexpr const char* kAddress = "inproc://zeromq.zap.01";
constexpr Duration kComplainEvery = std::chrono::seconds(1);

// Frames of a question: version, request, domain, address, routing id, mechanism, public key.
constexpr std::size_t kFrames = 7;
constexpr std::size_t kKeyBytes = 32;

}  // namespace

Result<std::unique_ptr<ZapHandler>> ZapHandler::Open(std::shared_ptr<Context> context,
                                                     Clock& clock) {
  void* socket = zmq_socket(context->handle(), ZMQ_REP);
  if (socket == nullptr) return ErrnoStatus(errno, "a socket for admission");
  std::unique_ptr<ZapHandler> handler(new ZapHandler(std::move(context), clock, socket));
  const int linger = 0;
  zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof(linger));
  if (zmq_bind(socket, kAddress) != 0) return ErrnoStatus(errno, kAddress);
  std::size_t size = sizeof(handler->fd_);
  if (zmq_getsockopt(socket, ZMQ_FD, &handler->fd_, &size) != 0) {
    return ErrnoStatus(errno, kAddress);
  }
  return handler;
}

ZapHandler::~ZapHandler() {
  if (!context_->InForkedChild()) zmq_close(socket_);
}

bool ZapHandler::Receive(std::vector<std::string>& frames) {
  frames.clear();
  for (int more = 1; more != 0;) {
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    int rc = 0;
    do {
      rc = zmq_msg_recv(&frame, socket_, ZMQ_DONTWAIT);
    } while (rc < 0 && errno == EINTR);
    if (rc >= 0) {
      frames.emplace_back(static_cast<const char*>(zmq_msg_data(&frame)), zmq_msg_size(&frame));
      more = zmq_msg_more(&frame);
    }
    zmq_msg_close(&frame);
    if (rc < 0) return false;
  }
  return true;
}

void ZapHandler::Serve() {
  for (std::vector<std::string> question; Receive(question);) Answer(question);
}

void ZapHandler::Answer(const std::vector<std::string>& question) {
  std::optional<wire::Role> role;
  std::array<char, 41> key{};
  if (question.size() == kFrames && question[0] == "1.0" && question[5] == "CURVE" &&
      question[6].size() == kKeyBytes) {
    zmq_z85_encode(key.data(), reinterpret_cast<const std::uint8_t*>(question[6].data()),
                   kKeyBytes);
    role = context_->keys()->Admitted(key.data());
  }
  if (!role) Complain(question.size() > 3 ? question[3] : "", key.data());
  // 300 and not 400: the peer is cut off without a word, and comes again later. Then its key may be
  // in the list.
  const std::array<std::string, 6> answer = {"1.0",
                                             question.size() > 1 ? question[1] : "",
                                             role ? "200" : "300",
                                             role ? "OK" : "not admitted",
                                             role ? std::string(wire::RoleName(*role)) : "",
                                             ""};
  for (std::size_t i = 0; i < answer.size(); ++i) {
    const int more = i + 1 < answer.size() ? ZMQ_SNDMORE : 0;
    if (zmq_send(socket_, answer[i].data(), answer[i].size(), ZMQ_DONTWAIT | more) < 0) return;
  }
}

void ZapHandler::Complain(const std::string& address, const std::string& key) {
  ++unsaid_;
  const SteadyTime now = clock_.Now();
  if (complained_ != SteadyTime{} && now - complained_ < kComplainEvery) return;
  complained_ = now;
  LogWarning("a peer was refused: its key is not in the list of those admitted address=" + address +
             " key=" + key + " times=" + std::to_string(unsaid_));
  unsaid_ = 0;
}

}  // namespace headrace::net
