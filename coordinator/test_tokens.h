#pragma once

#include <string>
#include <utility>
#include <variant>

#include "coordinator/state/state.h"
#include "schemas/wire/message.h"

// Tokens in the messages of tests that are not about tokens.
namespace headrace::coordinator {

// Gives the message the token, where it wants one and has none.
inline void GiveToken(wire::Body& body, const std::string& token) {
  std::visit(
      [&](auto& message) {
        if constexpr (requires { message.token; }) {
          if (message.token.empty()) message.token = token;
        }
      },
      body);
}

// The token that the state knows of the job or worker that the message names, or one of nobody.
inline std::string TokenFor(const State& state, const wire::Body& body) {
  return std::visit(
      [&](const auto& message) -> std::string {
        if constexpr (requires { message.job; }) {
          if (const Job* job = state.FindJob(message.job)) return job->spec.token;
        } else if constexpr (requires { message.worker; }) {
          if (const Worker* worker = state.FindWorker(message.worker)) return worker->token;
        }
        // Of one that is not known (any more).
        return "token of nobody";
      },
      body);
}

// A process that introduced itself with a token, and has it in all that it says.
class Speaker {
 public:
  wire::Body operator()(wire::Body body) {
    if (const auto* job = std::get_if<wire::OpenJob>(&body)) token_ = job->token;
    if (const auto* worker = std::get_if<wire::RegisterWorker>(&body)) token_ = worker->token;
    GiveToken(body, token_);
    return body;
  }

 private:
  std::string token_ = "token of nobody";
};

}  // namespace headrace::coordinator
