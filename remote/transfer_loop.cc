// This file is long because one class takes a request from its line to its answer.
#include "remote/transfer_loop.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "remote/failure_text.h"
#include "remote/sigv4.h"

namespace headrace::remote {
namespace {

using Failure = Outcome::Failure;
using What = ObjectRequest::What;

constexpr int kMostRedirects = 5;
constexpr std::int64_t kMostSkewMillis = 300'000;  // S3 takes 15 minutes
constexpr std::size_t kMostCredentialBytes = std::size_t{64} << 10;
constexpr Duration kCredentialsWait = std::chrono::seconds(5);
constexpr Duration kLongestWait = std::chrono::seconds(10);
// A meter's rate may rise meanwhile.
constexpr Duration kLongestPace = std::chrono::milliseconds(100);
// Between looks at held transfers whose sockets say nothing.
constexpr Duration kQuietLook = std::chrono::milliseconds(10);
// Between looks after transfers that libcurl does not time.
constexpr Duration kLateLook = std::chrono::seconds(1);

std::string HostOf(const ObjectUrl& url) {
  return std::string(url.tls ? "https://" : "http://").append(url.Authority());
}

}  // namespace

TransferLoop::TransferLoop(ClientOptions options, std::uint64_t receive_buffer)
    : options_(std::move(options)),
      receive_buffer_(receive_buffer),
      multi_(curl_multi_init()),
      keeper_(options_.credentials) {
  HR_CHECK(multi_ != nullptr);
  curl_multi_setopt(multi_, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(4 * options_.host_requests));
}

TransferLoop::~TransferLoop() {
  Cancel(nullptr);
  if (asking_) curl_multi_remove_handle(multi_, asking_->transfer->handle());
  curl_multi_cleanup(multi_);
}

void TransferLoop::Wake() { curl_multi_wakeup(multi_); }

void TransferLoop::Begin(std::shared_ptr<ObjectFetch> fetch) {
  fetches_[fetch.get()] = fetch;
  TakeParts(fetch, options_.clock->Now() + options_.limits.whole);
}

void TransferLoop::Cancel(const void* owner) {
  const auto fetches = fetches_;  // a callback may ask for more, later
  for (const auto& [key, fetch] : fetches) {
    if (owner == nullptr || fetch->request().owner == owner) {
      fetch->Fail(Unavailable("the source was stopped"));
    }
  }
  DropStale();
}

void TransferLoop::TakeParts(const std::shared_ptr<ObjectFetch>& fetch, SteadyTime deadline) {
  for (std::shared_ptr<Part>& part : fetch->TakeParts()) {
    Line({.fetch = fetch,
          .part = std::move(part),
          .generation = fetch->generation(),
          .deadline = deadline,
          .url = fetch->request().url});
  }
}

void TransferLoop::Line(Job job) {
  const Store& store = *job.fetch->request().store;
  if (job.part->redirected) {
    job.url = *job.part->redirected;
    job.region.clear();  // what answers there knows nothing of the bucket
  } else if (store.s3()) {
    job.region = lessons_.RegionOf(store);
    job.url = store.InRegion(job.fetch->request().url, job.region);
  }
  job.lined = options_.clock->Now();
  hosts_[HostOf(job.url)].Push(std::move(job));
}

void TransferLoop::Turn() {
  const SteadyTime now = options_.clock->Now();
  while (!paused_.empty() && paused_.begin()->first <= now) {
    Line(std::move(paused_.extract(paused_.begin()).mapped()));
  }
  AskForCredentials();
  HeldTransfers held = LookAtHeld(running_, now);
  for (const auto& [handle, code] : ResumeHeld(held, now)) OnEnded(TakeRunning(handle), code);
  StartWaiting(held);
  int running = 0;
  curl_multi_perform(multi_, &running);
  // Large answers have told their parts.
  std::vector<std::pair<std::shared_ptr<ObjectFetch>, SteadyTime>> told;
  for (const auto& [handle, one] : running_) told.emplace_back(one.job.fetch, one.job.deadline);
  for (const auto& [fetch, deadline] : told) TakeParts(fetch, deadline);
  TakeEnded();
  for (CURL* const handle : TooLate(running_, options_.limits, now)) {
    OnEnded(TakeRunning(handle), CURLE_OPERATION_TIMEDOUT);
  }
  DropStale();
  held = LookAtHeld(running_, options_.clock->Now());
  StartWaiting(held);
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(MostWait(held)).count();
  curl_multi_poll(multi_, held.quiet.data(), static_cast<unsigned>(held.quiet.size()),
                  static_cast<int>(std::clamp<std::int64_t>(millis, 0, 10'000)), nullptr);
}

void TransferLoop::StartWaiting(const HeldTransfers& held) {
  const SteadyTime now = options_.clock->Now();
  paced_until_ = SteadyTime::max();
  for (auto& [name, host] : hosts_) {
    while (host.running < options_.host_requests) {
      Status signs;
      std::optional<Job> job = host.Pop([&](const Job& next) {
        if (Meter* const meter = next.meter(); meter != nullptr) {
          const SteadyTime ready = meter->ReadyAt(now);
          if (ready > now) paced_until_ = std::min(paced_until_, ready);
          if (ready > now || held.readable.contains(meter)) return false;
        }
        const Result<bool> may = ReadyToSign(next);
        signs = may.status();
        return !may.ok() || *may;
      });
      if (!job) break;
      if (job->meter() != nullptr) job->deadline += now - job->lined;
      const std::shared_ptr<ObjectFetch> fetch = job->fetch;
      if (signs.ok()) signs = Start(*std::move(job));
      if (!signs.ok()) {
        fetch->Fail(std::move(signs));
      } else {
        ++host.running;
      }
    }
  }
}

Duration TransferLoop::MostWait(const HeldTransfers& held) {
  const SteadyTime now = options_.clock->Now();
  SteadyTime paced = paced_until_;
  for (const auto& [meter, ones] : held.readable) paced = std::min(paced, meter->ReadyAt(now));
  Duration wait = kLongestWait;
  if (paced != SteadyTime::max()) wait = std::min(kLongestPace, paced - now);
  const auto metered = [](const auto& one) { return one.second.intake != nullptr; };
  if (!held.quiet.empty()) wait = std::min(wait, kQuietLook);
  if (std::ranges::any_of(running_, metered)) wait = std::min(wait, kLateLook);
  if (!paused_.empty()) wait = std::min(wait, paused_.begin()->first - now);
  if (keeper_.wakes_at()) wait = std::min(wait, *keeper_.wakes_at() - now);
  return wait;
}

// Whoever answers a redirect's target gets no signature of ours.
bool TransferLoop::WantsSignature(const Job& job) const {
  return job.fetch->request().store->is_signed() && !job.part->redirected &&
         options_.rules.MaySign(job.url);
}

Result<bool> TransferLoop::ReadyToSign(const Job& job) {
  if (job.is_stale() || !WantsSignature(job)) return true;
  HR_RETURN_IF_ERROR(keeper_.Look(options_.clock->Now(), options_.clock->WallMillis()));
  AskForCredentials();
  return !keeper_.waits();
}

void TransferLoop::AskForCredentials() {
  if (asking_) return;
  const std::optional<CredentialCall> found = keeper_.TakeCall(options_.clock->Now());
  if (!found) return;
  asking_ = std::make_unique<Asking>();
  // Its operator has named it, in the environment: it may be at an address of this host.
  Result<EndpointRules> rules = EndpointRules::Make({found->url.Authority()});
  if (rules.ok()) asking_->rules = *std::move(rules);
  Transfer::Call call{.url = found->url,
                      .headers = found->headers,
                      .body = found->body,
                      .limits = options_.limits,
                      .ca_file = options_.ca_file};
  call.limits.whole = std::min(call.limits.whole, kCredentialsWait);
  asking_->transfer = std::make_unique<Transfer>(
      call, asking_->rules,
      Transfer::Taker{[](const ResponseHead&) { return Failure::kNone; },
                      [body = &asking_->body](ByteSpan bytes) {
                        if (body->size() + bytes.size() > kMostCredentialBytes) {
                          return Failure::kOther;
                        }
                        body->append(AsText(bytes));
                        return Failure::kNone;
                      },
                      [] { return false; }});
  HR_CHECK(curl_multi_add_handle(multi_, asking_->transfer->handle()) == CURLM_OK);
}

void TransferLoop::OnCredentials(CURLcode code) {
  const Outcome outcome = asking_->transfer->End(code);
  Result<std::string> answer = std::move(asking_->body);
  if (outcome.failure != Failure::kNone || outcome.status / 100 != 2) {
    answer = StatusOf(outcome, "asked for them", 1);
  }
  asking_.reset();
  keeper_.OnAnswer(answer, options_.clock->Now(), options_.clock->WallMillis());
}

Status TransferLoop::Start(Job job) {
  HR_TRY(Transfer::Call call, CallOf(job));
  ObjectFetch& fetch = *job.fetch;
  Part& part = *job.part;
  ObjectFetch::BeginTry(part);
  Transfer::Taker taker{
      [&fetch, &part](const ResponseHead& head) { return fetch.OnHead(part, head); },
      [&fetch, &part](ByteSpan bytes) { return fetch.OnBytes(part, bytes); },
      [&part] { return ObjectFetch::IsEnough(part); }};
  std::unique_ptr<Intake> intake = BeginIntake(job, receive_buffer_, *options_.clock, taker);
  auto transfer = std::make_unique<Transfer>(call, options_.rules, std::move(taker));
  CURL* const handle = transfer->handle();
  running_[handle] = {std::move(job), std::move(intake), std::move(transfer), ++started_};
  HR_CHECK(curl_multi_add_handle(multi_, handle) == CURLM_OK);
  return {};
}

Result<Transfer::Call> TransferLoop::CallOf(Job& job) {
  const ObjectRequest& request = job.fetch->request();
  const SteadyTime now = options_.clock->Now();
  if (!job.url.tls && !options_.rules.MayBePlain(job.url)) {
    return Status(Code::kUnavailable,
                  job.url.Name() +
                      ": without TLS only endpoints are asked that the operator of this "
                      "process allows",
                  Detail::kNotAllowed);
  }
  Transfer::Call call{.url = job.url,
                      .head_only = job.fetch->IsHead(*job.part),
                      .headers = {},
                      .limits = options_.limits,
                      .ca_file = options_.ca_file,
                      .paced = job.meter() != nullptr,
                      .receive_buffer = receive_buffer_,
                      .sockets = &sockets_};
  call.limits.whole = std::max(job.deadline - now, Duration(1));
  SigningRequest sent{.method = call.head_only ? "HEAD" : "GET",
                      .path = job.url.path,
                      .query = job.url.query,
                      .headers = {{"host", job.url.Authority()}}};
  if (std::string range = ObjectFetch::RangeOf(*job.part); !range.empty()) {
    sent.headers.emplace_back("range", std::move(range));
  }
  if (std::string match = job.fetch->MatchOf(*job.part); !match.empty()) {
    sent.headers.emplace_back("if-match", std::move(match));
  }
  const Store& store = *request.store;
  if (store.asks_for_checksums() && request.what == What::kWhole && !job.part->has_range) {
    sent.headers.emplace_back("x-amz-checksum-mode", "ENABLED");
  }
  const std::optional<Credentials>& credentials = keeper_.credentials();
  job.is_signed =
      WantsSignature(job) && credentials && options_.rules.MaySign(job.url, credentials->key_id);
  job.credentials = keeper_.generation();
  if (job.is_signed) {
    SignHeaders(sent, *credentials, job.region,
                options_.clock->WallMillis() + lessons_.AheadOf(store));
  }
  for (const auto& [name, value] : sent.headers) call.headers.push_back(name + ": " + value);
  return call;
}

void TransferLoop::TakeEnded() {
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    if (asking_ && message->easy_handle == asking_->transfer->handle()) {
      curl_multi_remove_handle(multi_, message->easy_handle);
      OnCredentials(code);
      continue;
    }
    OnEnded(TakeRunning(message->easy_handle), code);
  }
  std::erase_if(hosts_,
                [](const auto& one) { return one.second.running == 0 && one.second.empty(); });
}

RunningTransfer TransferLoop::TakeRunning(CURL* handle) {
  auto taken = running_.extract(handle);
  curl_multi_remove_handle(multi_, handle);
  --hosts_[HostOf(taken.mapped().job.url)].running;
  return std::move(taken.mapped());
}

void TransferLoop::OnEnded(RunningTransfer ended, CURLcode code) {
  Job& job = ended.job;
  if (ended.intake) ended.intake->End(code == CURLE_OK, options_.clock->Now());
  if (job.is_stale()) return;
  ObjectFetch& fetch = *job.fetch;
  Outcome outcome = ended.transfer->End(code);
  const ResponseHead& head = ended.transfer->head();
  Complete(outcome, job, head);
  if (const std::string target = ended.transfer->RedirectsTo(); !target.empty()) {
    // S3 redirects where the region is wrong; a signature is of one host.
    if (!job.is_signed && outcome.region.empty() && Follow(job, target)) {
      --job.part->tries;
      Line(std::move(job));
      return;
    }
  }
  if (outcome.status == 416 && fetch.StartsBeyond(head)) {
    fetch.AnswerEmpty(head);
  } else if (Judge(outcome, options_.retry, job.part->tries, job.part->done) == Verdict::kDone) {
    outcome.failure = fetch.OnEnd(*job.part);
    if (outcome.failure == Failure::kNone) {
      budget_.Succeed(job.part->tries - 1);
    } else {
      outcome.status = 0;
    }
  }
  if (fetch.answered()) {
    fetches_.erase(&fetch);
    return;
  }
  const Verdict verdict = Judge(outcome, options_.retry, job.part->tries, job.part->done);
  if (verdict != Verdict::kDone) TryAgain(std::move(job), outcome, verdict, head);
}

// What follows from how it was asked. The answer to a HEAD has no body: a date far from ours is told by
// its head, and for the rest a GET can ask.
void TransferLoop::Complete(Outcome& outcome, const Job& job, const ResponseHead& head) const {
  if (outcome.region == job.region || job.region.empty()) outcome.region.clear();
  if (job.part->asks_why && outcome.status == 416) {  // an empty object, which may be read
    outcome.failure = ObjectFetch::OnNoReason(*job.part);
    outcome.status = 0;
  }
  outcome.beyond = outcome.status == 416 && job.fetch->is_piece();
  if (!job.fetch->IsHead(*job.part) || !job.is_signed || !outcome.code.empty()) return;
  const std::int64_t ours =
      options_.clock->WallMillis() + lessons_.AheadOf(*job.fetch->request().store);
  const bool skewed = head.date_millis && std::abs(*head.date_millis - ours) > kMostSkewMillis;
  if (outcome.status == 403 && skewed) outcome.code = "RequestTimeTooSkewed";
  outcome.untold = outcome.status == 400;
}

bool TransferLoop::Follow(Job& job, const std::string& target) {
  const Result<ObjectUrl> url = ObjectUrl::Parse(target);
  if (!url.ok() || ++job.part->redirects > kMostRedirects) return false;
  if (job.url.tls && !url->tls) return false;
  job.part->redirected = *url;
  return true;
}

void TransferLoop::TryAgain(Job job, const Outcome& outcome, Verdict verdict,
                            const ResponseHead& head) {
  ObjectFetch& fetch = *job.fetch;
  const SteadyTime now = options_.clock->Now();
  const Duration pause = PauseBefore(outcome, options_.retry, job.part->tries, Draw());
  if (fetch.too_large()) {
    fetch.Fail(Unsupported(fetch.request().url.Name() + ": " + std::to_string(fetch.size()) +
                           " bytes are too many"));
  } else if (fetch.ignores_ranges()) {
    fetch.Fail(Unsupported(fetch.request().url.Name() +
                           ": the store sends whole objects whatever range is asked for"));
  } else if (NoteRemedy(verdict, job.part->done)) {
    --job.part->tries;
    Remedy(std::move(job), outcome, verdict, head);
    return;
  } else if (verdict == Verdict::kFailed || now + pause >= job.deadline || !budget_.Take()) {
    fetch.Fail(ExplainFailure(outcome, {.request = fetch.request(),
                                        .host = job.url.host,
                                        .region = job.region,
                                        .is_signed = job.is_signed,
                                        .tries = job.part->tries,
                                        .rules = options_.rules,
                                        .credentials = keeper_.credentials()}));
  } else {
    job.part->redirected.reset();
    job.part->redirects = 0;
    if (verdict == Verdict::kAgainFromStart || outcome.failure == Failure::kDamaged) {
      fetch.Restart(job.part->tries);
    } else {
      fetch.Again(job.part);
    }
    for (std::shared_ptr<Part>& part : fetch.TakeParts()) {
      paused_.emplace(now + pause, Job{.fetch = job.fetch,
                                       .part = std::move(part),
                                       .generation = fetch.generation(),
                                       .deadline = job.deadline,
                                       .url = fetch.request().url});
    }
    return;
  }
  fetches_.erase(&fetch);
}

void TransferLoop::Remedy(Job job, const Outcome& outcome, Verdict verdict,
                          const ResponseHead& head) {
  const Store& store = *job.fetch->request().store;
  if (verdict == Verdict::kAgainRenewed) keeper_.Renew(job.credentials);
  if (verdict == Verdict::kAgainInTime && head.date_millis) {
    lessons_.LearnClock(store, *head.date_millis, options_.clock->WallMillis());
  }
  if (verdict == Verdict::kAgainInRegion) lessons_.LearnRegion(store, outcome.region);
  job.part->asks_why = verdict == Verdict::kAgainForCode;
  job.part->asks_size = verdict == Verdict::kAgainForSize;
  job.part->redirected.reset();
  job.part->redirects = 0;
  Line(std::move(job));
}

// Lets go of what nobody waits for any more.
void TransferLoop::DropStale() {
  for (auto at = running_.begin(); at != running_.end();) {
    if (!at->second.job.is_stale()) {
      ++at;
      continue;
    }
    CURL* const handle = (at++)->first;
    RunningTransfer over = TakeRunning(handle);
    if (over.intake) over.intake->End(false, options_.clock->Now());
  }
  for (auto& [name, host] : hosts_) host.DropStale();
  std::erase_if(paused_, [](const auto& one) { return one.second.is_stale(); });
  std::erase_if(fetches_, [](const auto& one) { return one.second->answered(); });
}

double TransferLoop::Draw() {
  return static_cast<double>(MixBits(options_.seed + ++drawn_) >> 11) * 0x1p-53;
}

}  // namespace headrace::remote
