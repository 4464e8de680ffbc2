#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/context_internal.h"

namespace headrace::net {

// Answers ZeroMQ's question, for each new connection to a CURVE server, whether its key is admitted
// (ZAP, RFC 27). The answer's user id is the role of the key. One thread. Where none runs, ZeroMQ
// admits everybody, without a role: then ZmqSocket refuses each message.
class ZapHandler {
 public:
  // kUnavailable: the context has a handler already.
  static Result<std::unique_ptr<ZapHandler>> Open(std::shared_ptr<Context> context, Clock& clock);
  ~ZapHandler();
  ZapHandler(const ZapHandler&) = delete;
  ZapHandler& operator=(const ZapHandler&) = delete;

  // Readable when there may be a question.
  [[nodiscard]] int fd() const { return fd_; }
  // Answers all questions that wait.
  void Serve();

 private:
  ZapHandler(std::shared_ptr<Context> context, Clock& clock, void* socket)
      : context_(std::move(context)), clock_(clock), socket_(socket) {}
  [[nodiscard]] bool Receive(std::vector<std::string>& frames);
  void Answer(const std::vector<std::string>& question);
  void Complain(const std::string& address, const std::string& key);

  const std::shared_ptr<Context> context_;
  Clock& clock_;
  void* const socket_;
  int fd_ = -1;
  SteadyTime complained_{};
  std::uint64_t unsaid_ = 0;  // refused since the last log line
};

}  // namespace headrace::net
