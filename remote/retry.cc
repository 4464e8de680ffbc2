#include "remote/retry.h"

#include <algorithm>

namespace headrace::remote {
namespace {

using Failure = Outcome::Failure;

bool IsAnyOf(const std::string& code, std::initializer_list<const char*> codes) {
  return std::ranges::any_of(codes, [&](const char* one) { return code == one; });
}

const char* Words(Failure failure) {
  switch (failure) {
    case Failure::kNone:
      return "";
    case Failure::kConnect:
      return "no connection";
    case Failure::kTimeout:
      return "too slow";
    case Failure::kBroken:
      return "the connection ended before the answer's end";
    case Failure::kDamaged:
      return "the bytes do not fit the store's checksum";
    case Failure::kChanged:
      return "it changed while it was read";
    case Failure::kForbidden:
      return "refused";
    case Failure::kOther:
      return "no answer by HTTP";
  }
  return "";
}

}  // namespace

Verdict Judge(const Outcome& outcome, const RetryRules& rules, int tries, const Remedies& done) {
  const auto if_left = [&](Verdict verdict) {
    return tries < rules.most_tries ? verdict : Verdict::kFailed;
  };
  switch (outcome.failure) {
    case Failure::kNone:
      break;
    case Failure::kConnect:
    case Failure::kTimeout:
    case Failure::kBroken:
    case Failure::kDamaged:
      return if_left(Verdict::kAgain);
    case Failure::kChanged:
      return if_left(Verdict::kAgainFromStart);
    case Failure::kForbidden:
    case Failure::kOther:
      return Verdict::kFailed;
  }
  if (outcome.status >= 200 && outcome.status < 300) return Verdict::kDone;
  if (outcome.status == 412) return if_left(Verdict::kAgainFromStart);
  if (outcome.status == 408 || outcome.status == 429 || outcome.status == 500 ||
      (outcome.status >= 502 && outcome.status <= 504) ||
      IsAnyOf(outcome.code, {"RequestTimeout", "SlowDown", "InternalError"})) {
    return if_left(Verdict::kAgain);
  }
  const auto once = [](Verdict verdict, bool before) {
    return before ? Verdict::kFailed : verdict;
  };
  const bool refused = outcome.status == 301 || outcome.status == 307 || outcome.status == 400 ||
                       outcome.status == 403;
  if (refused && !outcome.region.empty()) return once(Verdict::kAgainInRegion, done.moved);
  if (IsAnyOf(outcome.code, {"ExpiredToken", "TokenRefreshRequired", "ExpiredTokenException"})) {
    return once(Verdict::kAgainRenewed, done.renewed);
  }
  if (outcome.code == "RequestTimeTooSkewed") return once(Verdict::kAgainInTime, done.timed);
  if (outcome.beyond) return once(Verdict::kAgainForSize, done.asked_size);
  return outcome.untold ? once(Verdict::kAgainForCode, done.asked_why) : Verdict::kFailed;
}

bool NoteRemedy(Verdict verdict, Remedies& done) {
  switch (verdict) {
    case Verdict::kAgainRenewed:
      return done.renewed = true;
    case Verdict::kAgainInTime:
      return done.timed = true;
    case Verdict::kAgainInRegion:
      return done.moved = true;
    case Verdict::kAgainForCode:
      return done.asked_why = true;
    case Verdict::kAgainForSize:
      return done.asked_size = true;
    case Verdict::kDone:
    case Verdict::kAgain:
    case Verdict::kAgainFromStart:
    case Verdict::kFailed:
      break;
  }
  return false;
}

Duration PauseBefore(const Outcome& outcome, const RetryRules& rules, int tries, double drawn) {
  const int doublings = std::clamp(tries - 1, 0, 30);
  const double most = std::min(static_cast<double>(rules.first_pause.count()) *
                                   static_cast<double>(std::int64_t{1} << doublings),
                               static_cast<double>(rules.longest_pause.count()));
  const Duration pause(static_cast<Duration::rep>(most * drawn));
  return std::max(pause, outcome.retry_after.value_or(Duration(0)));
}

Status StatusOf(const Outcome& outcome, const std::string& name, int tries) {
  std::string text = name + ": ";
  text += outcome.failure == Failure::kNone ? std::to_string(outcome.status)
                                            : std::string(Words(outcome.failure));
  if (!outcome.code.empty()) text += " " + outcome.code;
  if (tries > 1) text += ", after " + std::to_string(tries) + " tries";
  if (outcome.failure == Failure::kForbidden) {
    return Status(Code::kUnavailable, text, Detail::kNotAllowed);
  }
  if (outcome.failure != Failure::kNone) return Unavailable(text);
  if (outcome.status == 404 || outcome.status == 410) {
    return Status(Code::kNotFound, text, Detail::kNoFile);
  }
  return Unavailable(text);
}

}  // namespace headrace::remote
