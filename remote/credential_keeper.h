#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "remote/credential_call.h"
#include "remote/credentials.h"

namespace headrace::remote {

// Keeps the credentials of a process fresh. It decides when they are looked up, when a service is to be
// asked for them, and whether a request waits for its answer; others ask. One thread.
//
//   looked up in: AWS_ACCESS_KEY_ID and so on; a web identity; a profile; the host of a container
class CredentialKeeper {
 public:
  struct Rules {
    Duration hold = std::chrono::seconds(60);  // files are written anew now and then
    // Before they expire, new ones are asked for; those that last less than twice as long, at half
    // their time.
    Duration early = std::chrono::minutes(5);
    int most_tries = 4;
    Duration first_pause = std::chrono::milliseconds(500);  // doubles
    Duration failed = std::chrono::seconds(10);             // then it is tried anew
  };

  explicit CredentialKeeper(CredentialPlaces places)
      : CredentialKeeper(std::move(places), Rules()) {}
  CredentialKeeper(CredentialPlaces places, Rules rules)
      : places_(std::move(places)), rules_(rules) {}

  // Looks whether something is to be done, before a request is signed. An error: there are no
  // credentials, and why (kInvalidArgument, kUnavailable).
  Status Look(SteadyTime now, std::int64_t wall_millis);
  // A call that is to be made now; it is given once.
  [[nodiscard]] std::optional<CredentialCall> TakeCall(SteadyTime now);
  // How it ended: the answer's body, or why there is none.
  void OnAnswer(const Result<std::string>& answer, SteadyTime now, std::int64_t wall_millis);
  // After an OK Look: a request that is to be signed waits until the call has ended.
  [[nodiscard]] bool waits() const { return waits_; }
  // When TakeCall has something again; nullopt: not before the next Look.
  [[nodiscard]] std::optional<SteadyTime> wakes_at() const {
    return call_ && !asking_ ? std::optional(next_try_) : std::nullopt;
  }
  // After an OK Look that does not wait. nullopt: no place has any, and requests are not signed.
  [[nodiscard]] const std::optional<Credentials>& credentials() const { return credentials_; }
  // Tells those that were there one after the other apart.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  // A store has refused those of `generation` as expired. If others have come since, nothing is done:
  // many requests that were signed with the old ones fail together.
  void Renew(std::uint64_t generation);

 private:
  void BeginCall(Result<CredentialCall> found, SteadyTime now, std::int64_t wall_millis);

  const CredentialPlaces places_;
  const Rules rules_;
  std::optional<Credentials> credentials_;
  std::uint64_t generation_ = 0;
  SteadyTime looked_up_ = SteadyTime::min();  // min: they are to be looked up
  std::int64_t renew_millis_ = 0;             // of what a service gave: when it is asked again
  std::optional<CredentialCall> call_;        // to be made, or on its way
  bool asking_ = false;
  bool waits_ = false;
  int tries_ = 0;
  SteadyTime next_try_{};
  Status failure_;  // of the last call, until its time
  SteadyTime failed_until_{};
};

}  // namespace headrace::remote
