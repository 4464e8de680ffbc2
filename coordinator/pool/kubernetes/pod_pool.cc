#include "coordinator/pool/kubernetes/pod_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"

namespace headrace::coordinator {
namespace {

using Kind = KubeVerdict::Kind;

constexpr Duration kStopPatience = std::chrono::seconds(10);
constexpr Duration kFirstQuiet = std::chrono::milliseconds(250);
constexpr Duration kLongestQuiet = std::chrono::seconds(30);
// After so many in a row the coordinator is told that there will be none, and asks again when it likes.
constexpr int kMostRefusals = 6;

// Only one that has no process any more may be deleted without any (0): then nobody waits for its end.
std::int64_t GraceSeconds(Duration grace) {
  return std::max<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(grace).count(), 1);
}

KubeClient::Query DeleteOf(const PodPool::Rules& rules, const PodName& pod, std::int64_t grace_s) {
  return {.call = {"delete", "pods"},
          .method = "DELETE",
          .url = rules.access.Pods(pod.name),
          .body = DeleteOptions(pod.uid, grace_s),
          .patience = rules.patience};
}

}  // namespace

PodPool::PodPool(net::Reactor& reactor, PoolOptions options, PoolEvents events, Rules rules)
    : reactor_(reactor),
      options_(std::move(options)),
      events_(std::move(events)),
      rules_(std::move(rules)),
      origin_{PoolLabel(options_.name), options_.epoch},
      owner_(rules_.owner),
      ledger_(options_.epoch, options_.most_members),
      client_(std::make_unique<KubeClient>(reactor, rules_.access)) {
  feed_ = std::make_unique<PodFeed>(
      reactor, *client_, std::string(kPoolLabel) + "=" + origin_.pool,
      static_cast<std::uint64_t>(options_.epoch),
      PodFeed::Taker{.on_begin = [this] { ledger_.ListingBegins(); },
                     .on_list =
                         [this](const std::vector<PodSeen>& pods) {
                           Tell(ledger_.Listed(pods, Now()));
                           Submit();
                         },
                     .on_seen = [this](const PodSeen& pod) { Tell(ledger_.Seen(pod, Now())); },
                     .on_gone = [this](const PodSeen& pod) { Tell(ledger_.Gone(pod, Now())); },
                     .on_trouble = [this](const Status& why) { Fail(why); }});
}

Status PodPool::Grow(std::int32_t count) {
  if (stopped_) return Unavailable("the kubernetes pool has been stopped");
  HR_RETURN_IF_ERROR(ledger_.Ask(count));
  Soon(Duration::zero());
  return Status::Ok();
}

Status PodPool::Kill(const std::string& handle, Duration grace) {
  const std::optional<PodName> pod = ledger_.End(handle);
  if (!pod) return NotFound(handle + " is not in the kubernetes pool");
  if (!stopped_) Delete(*pod, GraceSeconds(grace));
  return Status::Ok();
}

std::vector<PoolMember> PodPool::List() const {
  return stopped_ ? std::vector<PoolMember>() : ledger_.List();
}

void PodPool::Registered(const wire::WorkerInfo& info) { ledger_.Registered(info, Now()); }

void PodPool::Stop() {
  if (stopped_) return;
  stopped_ = true;
  if (soon_) reactor_.CancelTimer(*soon_);
  feed_.reset();
  const std::unique_ptr<KubeClient> client = std::move(client_);
  if (rules_.keep_at_stop || (ledger_.ready() && ledger_.List().empty())) return;
  // Listed once more: a last request may have made a Pod without an answer.
  const std::string selector =
      "?labelSelector=" + QueryText(std::string(kPoolLabel) + "=" + origin_.pool);
  const std::vector<KubeClient::Answer> listed = client->Run(
      {{.call = {"list", "pods"}, .url = rules_.access.Pods() + selector}}, kStopPatience);
  Status failed = listed.front().verdict.why;
  if (listed.front().verdict.kind == Kind::kDone) {
    const Result<PodListing> pods = ReadPodList(listed.front().body);
    failed = pods.status();
    std::vector<KubeClient::Query> queries;
    if (pods.ok()) {
      for (const PodSeen& pod : pods->pods) {
        queries.push_back(
            DeleteOf(rules_, {pod.name, pod.uid}, pod.phase == PodSeen::Phase::kEnded ? 0 : -1));
      }
    }
    for (const KubeClient::Answer& answer : client->Run(queries, kStopPatience)) {
      const bool gone = answer.verdict.kind == Kind::kDone || answer.verdict.kind == Kind::kMissing;
      if (!gone) failed = answer.verdict.why;
    }
  }
  if (!failed.ok()) {
    LogWarning("pool: Pods with the label " + std::string(kPoolLabel) + "=" + origin_.pool +
               " may be left: " + failed.message());
  }
}

void PodPool::Soon(Duration pause) {
  if (soon_) return;
  soon_ = reactor_.AddOnce(pause, [this] {
    soon_.reset();
    Submit();
  });
}

void PodPool::Submit() {
  if (quiet_until_ > Now()) return Soon(quiet_until_ - Now());
  if (owner_ && owner_->uid.empty()) return AskForOwner();
  while (const std::optional<std::int64_t> start = ledger_.NextStart()) Post(*start);
}

void PodPool::AskForOwner() {
  if (asks_for_owner_ || ledger_.List().empty()) return;
  asks_for_owner_ = true;
  const std::string kind = owner_->kind == "StatefulSet" ? "statefulsets" : "deployments";
  client_->Start({.call = {"get", kind},
                  .url = rules_.access.Apps(kind, owner_->name),
                  .patience = rules_.patience},
                 [this](const KubeVerdict& verdict, const std::string& body) {
                   asks_for_owner_ = false;
                   Result<std::string> uid = verdict.why;
                   if (verdict.kind == Kind::kDone) uid = ReadUid(body);
                   if (uid.ok()) {
                     owner_->uid = *uid;
                   } else if (const std::optional<std::int64_t> start = ledger_.NextStart()) {
                     Tell(ledger_.Refused(*start, uid.status()));
                   }
                   Submit();
                 });
}

void PodPool::Post(std::int64_t start) {
  const Result<std::string> pod =
      WorkerPod(rules_.wishes, origin_, options_.worker_command, owner_, start);
  if (!pod.ok()) return Tell(ledger_.Refused(start, pod.status()));
  // An unknown field of a template is an error, not nothing.
  client_->Start({.call = {"create", "pods"},
                  .method = "POST",
                  .url = rules_.access.Pods() + "?fieldValidation=Strict",
                  .body = *pod,
                  .patience = rules_.patience},
                 [this, start](const KubeVerdict& verdict, const std::string& body) {
                   OnPosted(start, verdict, body);
                   Submit();
                 });
}

void PodPool::OnPosted(std::int64_t start, const KubeVerdict& verdict, const std::string& body) {
  switch (verdict.kind) {
    case Kind::kDone: {
      refusals_ = 0;
      const Result<PodSeen> pod = ReadPod(body);
      if (pod.ok()) return Tell(ledger_.Created(start, *pod, Now()));
      ledger_.Unanswered(start);
      return feed_->List();
    }
    case Kind::kDoubtful:
      ledger_.Unanswered(start);
      Pause(verdict);
      Fail(verdict.why);
      return feed_->List();
    case Kind::kAgain:
      Pause(verdict);
      if (refusals_ > kMostRefusals) return Tell(ledger_.Refused(start, verdict.why));
      ledger_.Again(start);
      if (refusals_ == kMostRefusals / 2) Fail(verdict.why);
      return;
    case Kind::kRefused:
    case Kind::kNoRoom:
    case Kind::kMissing:
    case Kind::kExpired:
      return Tell(ledger_.Refused(start, verdict.why));
  }
}

void PodPool::Pause(const KubeVerdict& verdict) {
  const Duration doubled = kFirstQuiet * (1 << std::min(refusals_++, kMostRefusals));
  quiet_until_ = Now() + std::max(verdict.pause, std::min(doubled, kLongestQuiet));
}

void PodPool::Delete(const PodName& pod, std::int64_t grace_s) {
  client_->Start(
      DeleteOf(rules_, pod, grace_s), [](const KubeVerdict& verdict, const std::string&) {
        // Gone, or another of its name (409), is what was wanted. For all else the coordinator asks again.
        const bool is_over = verdict.kind == Kind::kDone || verdict.kind == Kind::kMissing;
        if (!is_over) LogWarning("pool: " + verdict.why.message());
      });
}

void PodPool::Tell(const PodLedger::Outcome& outcome) {
  for (const PodName& pod : outcome.remove) Delete(pod, 0);
  for (const WorkerId worker : outcome.ended) {
    if (events_.on_ended) events_.on_ended(worker, 0);
  }
  for (const auto& [count, why] : outcome.failed) {
    if (events_.on_failed) events_.on_failed(count, why);
  }
}

void PodPool::Fail(const Status& why) {
  if (events_.on_failed) events_.on_failed(0, why);
}

}  // namespace headrace::coordinator
