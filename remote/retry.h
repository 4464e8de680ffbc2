#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace headrace::remote {

// How one request ended. Exactly one of `status` (of HTTP) and `failure` tells it.
struct Outcome {
  enum class Failure : std::uint8_t {
    kNone,
    kConnect,    // no address, no connection, or it was refused
    kTimeout,    // too slow
    kBroken,     // reset, or ended before its end
    kDamaged,    // the bytes are not those of their checksum
    kChanged,    // other bytes than the ones that were asked for came
    kForbidden,  // our rules refuse it (EndpointRules)
    kOther,      // certificates, protocol
  };
  int status = 0;
  Failure failure = Failure::kNone;
  std::string code;     // <Code> of S3's errors
  std::string region;   // of the bucket, if it is another than was asked in
  bool untold = false;  // a refusal that may be put right, but has no body to say how
  bool beyond = false;  // a range after the object's end, and the size is not told
  std::optional<Duration> retry_after;  // as the store says
};

// What follows from it.
enum class Verdict : std::uint8_t {
  kDone,
  kAgain,           // after a pause
  kAgainFromStart,  // the object is another one now: all of it must be read again
  kAgainRenewed,    // with credentials that are looked up again
  kAgainInTime,     // with the store's time
  kAgainInRegion,   // in the bucket's region
  kAgainForCode,    // a HEAD's refusal has no body: a GET of one byte is told why
  kAgainForSize,    // by a HEAD
  kFailed,
};

// What was put right for a request after a refusal: each once, since a second refusal means something
// else.
struct Remedies {
  bool renewed = false, timed = false, moved = false, asked_why = false, asked_size = false;
};

struct RetryRules {
  int most_tries = 8;
  Duration first_pause = std::chrono::milliseconds(100);
  Duration longest_pause = std::chrono::seconds(20);
};

// Pure. `tries`: so far, this one too. `done`: before.
[[nodiscard]] Verdict Judge(const Outcome& outcome, const RetryRules& rules, int tries,
                            const Remedies& done);
// Notes what the verdict puts right. False: it is no remedy but a retry, which waits and takes from the
// budget. A remedy does neither: what it mends fails all requests on their way together, and each once.
bool NoteRemedy(Verdict verdict, Remedies& done);
// The pause before the next try: a part, drawn evenly, of what doubles with each try; at least what
// the store asks for. `drawn` in [0, 1).
[[nodiscard]] Duration PauseBefore(const Outcome& outcome, const RetryRules& rules, int tries,
                                   double drawn);
// The error that says how it ended. `name`: of the object, without secrets.
[[nodiscard]] Status StatusOf(const Outcome& outcome, const std::string& name, int tries);

// Bounds the retries of all requests together, so that a store in trouble is not asked several
// times as often. Each retry takes from it. One that helps gives back what it took; so many failures
// that each end well never exhaust it. External lock.
class RetryBudget {
 public:
  static constexpr int kFull = 500;
  static constexpr int kOfRetry = 5;

  // False: there is none left.
  [[nodiscard]] bool Take() {
    if (left_ < kOfRetry) return false;
    left_ -= kOfRetry;
    return true;
  }
  // A request succeeded after so many retries.
  void Succeed(int retries) {
    const int back = retries > 0 ? retries * kOfRetry : 1;
    left_ = left_ + back < kFull ? left_ + back : kFull;
  }
  [[nodiscard]] int left() const { return left_; }

 private:
  int left_ = kFull;
};

}  // namespace headrace::remote
