#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "net/reactor.h"
#include "schemas/wire/control.h"

namespace headrace::cli {

inline constexpr std::chrono::milliseconds kQueryTimeout{5000};

// Asks the coordinator once for its status, on the caller's thread. kUnavailable: no answer in time
// (the message says what to start). kOtherRelease: it speaks another protocol (the message names
// both versions).
// `query`: what is wanted beside the usual.
[[nodiscard]] Result<wire::ClusterStatus> QueryStatus(
    const std::string& address, std::chrono::milliseconds timeout = kQueryTimeout,
    const wire::StatusQuery& query = {});

// A reactor for questions to the coordinator at `address`, with the keys of KeysDirectory.
[[nodiscard]] Result<std::unique_ptr<net::Reactor>> MakeQueryReactor(std::string name,
                                                                     const std::string& address);

// Asks repeatedly, on the caller's reactor. Reactor thread only.
class StatusPoller {
 public:
  // Called with each answer, or with the error if no answer came.
  using OnAnswer = std::function<void(Result<wire::ClusterStatus>)>;
  static Result<std::unique_ptr<StatusPoller>> Make(net::Reactor& reactor,
                                                    const std::string& address, OnAnswer on_answer,
                                                    const wire::StatusQuery& query = {});
  // Sends a question, unless an earlier one still waits for its answer. The answer must come within
  // `timeout`.
  void Ask(std::chrono::milliseconds timeout);

 private:
  StatusPoller(net::Reactor& reactor, std::string address, OnAnswer on_answer,
               const wire::StatusQuery& query)
      : reactor_(reactor),
        address_(std::move(address)),
        on_answer_(std::move(on_answer)),
        query_(query) {}
  void OnMessage(net::Incoming&& message);
  void Answer(Result<wire::ClusterStatus> answer);

  net::Reactor& reactor_;
  const std::string address_;
  const OnAnswer on_answer_;
  const wire::StatusQuery query_;
  std::unique_ptr<net::Socket> socket_;
  std::uint64_t asked_ = 0;
  net::TimerId deadline_ = 0;
  bool waiting_ = false;
};

}  // namespace headrace::cli
