#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "coordinator/pool/kubernetes/http_calls.h"

namespace headrace::coordinator {

// What was asked, in the words of RBAC.
struct KubeCall {
  std::string verb;      // "create"
  std::string resource;  // "pods"
};

// What follows from an answer of the API server.
struct KubeVerdict {
  enum class Kind : std::uint8_t {
    kDone,
    kRefused,   // the same would be refused again
    kNoRoom,    // a quota is used up
    kAgain,     // it was not done; later it may be
    kDoubtful,  // it was done or not
    kMissing,   // there is no such object
    kExpired,   // of a watch or list: its resource version is too old
  };
  Kind kind = Kind::kDone;
  Status why;             // of what is not done; for people, without secrets
  Duration pause{};       // the server asks for it
  bool stranger = false;  // it does not know who we are
};

//   connection, TLS        not heard: again; heard: doubtful
//   2xx                    done
//   401                    again: the token's file may have a new one
//   403                    "exceeded quota": no room; else refused, with the verb that the Role lacks
//   404, 410               missing, expired
//   409                    again: a name was taken, or a quota was changed meanwhile
//   429, 503               again, after Retry-After
//   5xx                    doubtful
//   any other              refused
//
// `secret` appears in no message, even where the server repeats it. Pure.
[[nodiscard]] KubeVerdict JudgeReply(const HttpReply& reply, const KubeCall& call,
                                     std::string_view secret);

// See Pool::Remedy.
[[nodiscard]] std::string_view KubeRemedy(Detail trouble);

}  // namespace headrace::coordinator
