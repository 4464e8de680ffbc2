#include "coordinator/pool/kubernetes/scale_pool.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"

namespace headrace::coordinator {
namespace {

using Kind = KubeVerdict::Kind;

constexpr char kMergePatch[] = "application/merge-patch+json";
constexpr Duration kAgainAfter = std::chrono::seconds(5);
constexpr Duration kScaleStopPatience = std::chrono::seconds(10);

}  // namespace

Result<ScaleTarget> ScaleTarget::Read(const std::string& text) {
  const std::size_t bar = text.find('/');
  const std::string kind = text.substr(0, bar);
  const std::string name = bar == std::string::npos ? "" : text.substr(bar + 1);
  for (const char* known : {"deployment", "statefulset"}) {
    const std::string plural = std::string(known) + "s";
    if ((kind == known || kind == plural) && IsKubeName(name)) return ScaleTarget{plural, name};
  }
  return InvalidArgument("--kubernetes-scale is deployments/NAME or statefulsets/NAME, not " +
                         text);
}

Result<ScaleSeen> ScaleSeen::Read(std::string_view text) {
  const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  const nlohmann::json none;
  const auto at = [&](const nlohmann::json& object, const char* name) -> const nlohmann::json& {
    if (!object.is_object()) return none;
    const auto found = object.find(name);
    return found == object.end() ? none : *found;
  };
  const nlohmann::json& replicas = at(at(json, "spec"), "replicas");
  const nlohmann::json& selector = at(at(json, "status"), "selector");
  const bool is_scale = json.is_object() && (replicas.is_null() || replicas.is_number_integer());
  if (!is_scale || !selector.is_string()) {
    return Unavailable("Kubernetes answers no scale with a selector");
  }
  ScaleSeen seen;
  seen.selector = selector.get<std::string>();
  if (replicas.is_number_integer()) {
    seen.replicas = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(replicas.get<std::int64_t>(), 0, 1'000'000));
  }
  return seen;
}

ScalePool::ScalePool(net::Reactor& reactor, PoolOptions options, PoolEvents events, Rules rules)
    : reactor_(reactor),
      options_(std::move(options)),
      events_(std::move(events)),
      rules_(std::move(rules)),
      ledger_(options_.most_members),
      client_(std::make_unique<KubeClient>(reactor, rules_.access)) {
  Soon(Duration::zero());
}

Status ScalePool::Grow(std::int32_t count) {
  if (stopped_) return Unavailable("the kubernetes pool has been stopped");
  HR_RETURN_IF_ERROR(ledger_.Ask(count));
  Soon(Duration::zero());
  return Status::Ok();
}

Status ScalePool::Drain(WorkerId worker) {
  HR_RETURN_IF_ERROR(ledger_.Drain(worker));
  Soon(Duration::zero());
  return Status::Ok();
}

// How long it has is in the Pod's own description: nobody here may delete it.
Status ScalePool::Kill(const std::string& handle, Duration) {
  HR_RETURN_IF_ERROR(ledger_.End(handle));
  Soon(Duration::zero());
  return Status::Ok();
}

std::vector<PoolMember> ScalePool::List() const {
  return stopped_ ? std::vector<PoolMember>() : ledger_.List();
}

void ScalePool::Stop() {
  if (stopped_) return;
  stopped_ = true;
  if (soon_) reactor_.CancelTimer(*soon_);
  feed_.reset();
  const std::unique_ptr<KubeClient> client = std::move(client_);
  if (rules_.keep_at_stop) return;
  const auto answers = client->Run({ScaleTo(0)}, kScaleStopPatience);
  if (answers.front().verdict.kind != Kind::kDone) {
    LogWarning("pool: " + rules_.target.resource + "/" + rules_.target.name +
               " may keep its Pods: " + answers.front().verdict.why.message());
  }
}

void ScalePool::Soon(Duration pause) {
  if (soon_ || stopped_) return;
  soon_ = reactor_.AddOnce(pause, [this] {
    soon_.reset();
    Act();
  });
}

void ScalePool::Act() {
  if (!feed_) return AskForNumber();
  if (telling_ || marking_ > 0) return;  // then it goes on
  for (const std::string& victim : ledger_.TakeVictims()) Mark(victim);
  if (marking_ > 0) return;
  if (const std::optional<std::int32_t> count = ledger_.Wanted()) Tell(*count);
}

void ScalePool::AskForNumber() {
  if (telling_) return;
  telling_ = true;
  KubeClient::Query query = ScaleTo(0);
  query.call.verb = "get";
  query.method = "GET";
  query.body.clear();
  client_->Start(std::move(query), [this](const KubeVerdict& verdict, const std::string& body) {
    telling_ = false;
    Result<ScaleSeen> seen = verdict.why;
    if (verdict.kind == Kind::kDone) seen = ScaleSeen::Read(body);
    if (seen.ok()) {
      ledger_.Replicas(seen->replicas);
      return Follow(seen->selector);
    }
    Soon(std::max(verdict.pause, kAgainAfter));
    Fail(0, seen.status());
  });
}

void ScalePool::Follow(const std::string& selector) {
  feed_ = std::make_unique<PodFeed>(
      reactor_, *client_, selector, static_cast<std::uint64_t>(options_.epoch),
      PodFeed::Taker{.on_begin = [] {},
                     .on_list =
                         [this](const std::vector<PodSeen>& pods) {
                           End(ledger_.Listed(pods));
                           Soon(Duration::zero());
                         },
                     .on_seen = [this](const PodSeen& pod) { End(ledger_.Seen(pod)); },
                     .on_gone = [this](const PodSeen& pod) { End(ledger_.Gone(pod)); },
                     .on_trouble = [this](const Status& why) { Fail(0, why); }});
}

// Of Pods that are to go, those with the lowest cost go first.
void ScalePool::Mark(const std::string& pod) {
  constexpr char kLow[] =
      R"({"metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"-1000"}}})";
  ++marking_;
  client_->Start({.call = {"patch", "pods"},
                  .method = "PATCH",
                  .url = rules_.access.Pods(pod),
                  .body = kLow,
                  .content_type = kMergePatch,
                  .patience = rules_.patience},
                 [this](const KubeVerdict& verdict, const std::string&) {
                   --marking_;
                   const bool fine = verdict.kind == Kind::kDone || verdict.kind == Kind::kMissing;
                   if (!fine) LogWarning("pool: " + verdict.why.message());
                   Act();
                 });
}

KubeClient::Query ScalePool::ScaleTo(std::int32_t count) const {
  return {.call = {"patch", rules_.target.resource + "/scale"},
          .method = "PATCH",
          .url = rules_.access.Apps(rules_.target.resource, rules_.target.name) + "/scale",
          .body = R"({"spec":{"replicas":)" + std::to_string(count) + "}}",
          .content_type = kMergePatch,
          .patience = rules_.patience};
}

void ScalePool::Tell(std::int32_t count) {
  telling_ = true;
  client_->Start(ScaleTo(count), [this, count](const KubeVerdict& verdict, const std::string&) {
    telling_ = false;
    if (verdict.kind == Kind::kDone) {
      ledger_.Replicas(count);
      return Act();
    }
    // Told again: whether it was heard makes no difference.
    Soon(std::max(verdict.pause, kAgainAfter));
    Fail(verdict.kind == Kind::kAgain || verdict.kind == Kind::kDoubtful ? 0 : ledger_.Refused(),
         verdict.why);
  });
}

void ScalePool::End(const std::vector<WorkerId>& workers) {
  for (const WorkerId worker : workers) {
    if (events_.on_ended) events_.on_ended(worker, 0);
  }
}

void ScalePool::Fail(std::int32_t count, const Status& why) {
  if (events_.on_failed) events_.on_failed(count, why);
}

}  // namespace headrace::coordinator
