#include "remote/credential_keeper.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace headrace::remote {
namespace {

std::int64_t Millis(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace

Status CredentialKeeper::Look(SteadyTime now, std::int64_t wall_millis) {
  waits_ = false;
  if (call_) {  // on its way, or between two tries
    waits_ = !credentials_ || credentials_->expires_millis <= wall_millis;
    return {};
  }
  if (looked_up_ != SteadyTime::min() && now - looked_up_ <= rules_.hold) {
    if (!failure_.ok() && now < failed_until_) return failure_;
    if (failure_.ok() && (renew_millis_ == 0 || wall_millis < renew_millis_)) return {};
  }
  HR_TRY(std::optional<Credentials> fixed, EnvironmentCredentials(places_));
  auto call = fixed ? std::nullopt : FindWebIdentityCall(places_);
  if (!fixed && !call) {
    HR_TRY(fixed, ProfileCredentials(places_));
    if (!fixed) call = FindContainerCall(places_);
  }
  looked_up_ = now;
  failure_ = {};
  if (call) {
    BeginCall(std::move(*call), now, wall_millis);
    return failure_;
  }
  if (fixed != credentials_) ++generation_;
  credentials_ = std::move(fixed);
  renew_millis_ = 0;
  return {};
}

void CredentialKeeper::BeginCall(Result<CredentialCall> found, SteadyTime now,
                                 std::int64_t wall_millis) {
  const bool given = renew_millis_ > 0 && credentials_;
  if (given && wall_millis < renew_millis_) return;  // it has an answer that lasts
  if (!given) credentials_.reset();
  if (!found.ok()) {
    failure_ = found.status();
    failed_until_ = now + rules_.failed;
    return;
  }
  call_ = *std::move(found);
  asking_ = false;
  tries_ = 0;
  next_try_ = now;
  waits_ = !credentials_ || credentials_->expires_millis <= wall_millis;
}

std::optional<CredentialCall> CredentialKeeper::TakeCall(SteadyTime now) {
  if (!call_ || asking_ || now < next_try_) return std::nullopt;
  asking_ = true;
  ++tries_;
  return call_;
}

void CredentialKeeper::OnAnswer(const Result<std::string>& answer, SteadyTime now,
                                std::int64_t wall_millis) {
  if (!call_) return;
  const Result<Credentials> read =
      answer.ok() ? ReadCredentialAnswer(*call_, *answer) : Result<Credentials>(answer.status());
  asking_ = false;
  if (read.ok()) {
    credentials_ = *read;
    ++generation_;
    const std::int64_t lasts = std::max<std::int64_t>(read->expires_millis - wall_millis, 0);
    renew_millis_ = read->expires_millis == INT64_MAX
                        ? INT64_MAX
                        : wall_millis + std::max(lasts / 2, lasts - Millis(rules_.early));
    call_.reset();
    return;
  }
  if (tries_ < rules_.most_tries) {
    next_try_ = now + rules_.first_pause * (1 << (tries_ - 1));
    return;
  }
  failure_ = Unavailable(call_->place + " gave no credentials: " + read.status().message());
  failed_until_ = now + rules_.failed;
  call_.reset();
  if (credentials_ && credentials_->expires_millis > wall_millis) {
    failure_ = {};  // the old ones still serve
    renew_millis_ = wall_millis + Millis(rules_.failed);
  }
}

void CredentialKeeper::Renew(std::uint64_t generation) {
  if (call_ || generation != generation_) return;
  looked_up_ = SteadyTime::min();
  if (renew_millis_ > 0) {
    credentials_.reset();
    renew_millis_ = 0;
  }
}

}  // namespace headrace::remote
