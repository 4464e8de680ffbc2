#include "dataworker/peers/peer_desk.h"

#include <algorithm>
#include <utility>

#include "base/pass/pass.h"
#include "base/secret.h"
#include "dataworker/peers/peer_link.h"

namespace headrace::dataworker {
namespace {

constexpr Duration kLook = std::chrono::seconds(1);

// Whether a pass for these names opens the entry.
bool Opens(NameReach admitted, const CacheKey& key) {
  return admitted == NameReach::kHost || key.content.holds_everywhere();
}

}  // namespace

// A question some of whose entries are looked for in a slow tier, or waited for.
struct PeerDesk::Pending {
  std::string peer;
  wire::PeerFind find;
  NameReach admitted = NameReach::kHost;
  std::shared_ptr<const CacheLease> lease;
  std::vector<CacheLookup> found;  // one a key; `later`: another makes it
  std::size_t looking = 0;
};

PeerDesk::PeerDesk(Parts parts) : parts_(std::move(parts)) {
  tick_ = parts_.reactor.AddTimer(kTick, [this] { parts_.cache->TickClaims(); });
}

PeerDesk::~PeerDesk() {
  if (timer_ != 0) parts_.reactor.CancelTimer(timer_);
  parts_.reactor.CancelTimer(tick_);
}

void PeerDesk::OnDirective(const wire::WorkerDirective& directive) {
  // A coordinator that has just begun knows jobs, and no grants yet.
  if (directive.grants.empty() && !directive.jobs.empty()) return;
  std::map<JobId, std::shared_ptr<const CacheLease>> jobs;
  for (const wire::JobGrant& grant : directive.grants) {
    if (grant.peers.empty() && !grant.wide) continue;
    std::shared_ptr<const CacheLease>& lease = jobs[grant.job];
    if (const auto held = jobs_.find(grant.job); held != jobs_.end()) {
      lease = std::move(held->second);
    } else {
      lease = std::make_shared<const CacheLease>(parts_.cache, grant.job, 0);  // the grant counts
    }
  }
  std::erase_if(jobs_, [](const auto& entry) { return entry.second == nullptr; });
  jobs_.swap(jobs);
}

std::optional<NameReach> PeerDesk::Admits(WorkerId worker, JobId job,
                                          const std::string& pass) const {
  if (!jobs_.contains(job)) return std::nullopt;
  if (parts_.token.empty() || SameSecret(pass, PeerPassOf(parts_.token, job, worker))) {
    return NameReach::kHost;
  }
  if (SameSecret(pass, WidePassOf(parts_.token, job, worker))) return NameReach::kEverywhere;
  return std::nullopt;
}

void PeerDesk::OnFind(const std::string& peer, const wire::PeerFind& find) {
  const std::optional<NameReach> admitted = Admits(find.worker, find.job, find.pass);
  if (!admitted) {
    parts_.send(peer,
                wire::PeerFound{.request = find.request,
                                .status = NoSession("job " + std::to_string(find.job.value) +
                                                    " shares no samples here with that worker"),
                                .answers = {},
                                .sizes = {}},
                {});
    return;
  }
  auto pending = std::make_shared<Pending>();
  pending->peer = peer;
  pending->find = find;
  pending->admitted = *admitted;
  pending->lease = jobs_.at(find.job);
  pending->found.resize(find.keys.size());
  pending->looking = 1;
  for (std::size_t i = 0; i < find.keys.size(); ++i) {
    const CacheKey key = KeyOf(find.keys[i]);
    if (!Opens(*admitted, key)) continue;  // as one that is not here, and has no room
    CacheLookup& found = pending->found[i];
    found = find.take ? parts_.cache->Find(find.job, key) : pending->lease->Find(key);
    if (find.offer) {  // a right to make it, or nothing
      found.pin = {};
      found.later = false;
      continue;
    }
    if (!found.later || (pending->lease->AwaitsMaker(found) && !find.wait)) continue;
    ++pending->looking;
    auto on_found = [this, alive = std::weak_ptr(alive_), pending, i,
                     &reactor = parts_.reactor](CacheLookup at) {
      reactor.Post([this, alive, pending, i, at = std::move(at)]() mutable {
        if (!alive.expired()) OnFound(pending, i, std::move(at));
      });
    };
    const CacheLookup stopped = std::exchange(found, CacheLookup());
    if (find.take) {
      parts_.cache->FindLater(find.job, key, stopped, std::move(on_found));
    } else {
      pending->lease->FindLater(key, stopped, std::move(on_found));
    }
  }
  if (--pending->looking == 0) Answer(*pending);
}

void PeerDesk::OnFound(const std::shared_ptr<Pending>& pending, std::size_t i, CacheLookup found) {
  pending->found[i] = std::move(found);
  if (--pending->looking == 0) Answer(*pending);
}

void PeerDesk::Answer(Pending& pending) {
  wire::PeerFound found{.request = pending.find.request, .status = {}, .answers = {}, .sizes = {}};
  std::vector<net::PayloadFrame> frames;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < pending.found.size(); ++i) {
    CacheLookup& lookup = pending.found[i];
    if (!lookup.pin) {
      wire::PeerAnswer answer = wire::PeerAnswer::kNothing;
      if (lookup.later) answer = wire::PeerAnswer::kSoon;
      if (lookup.claim && GiveClaim(pending.find.worker, std::move(lookup.claim))) {
        answer = wire::PeerAnswer::kMake;
      }
      found.answers.push_back(answer);
      continue;
    }
    const auto pin = std::make_shared<const CachePin>(std::move(lookup.pin));
    const ByteSpan entry = pin->bytes();
    const std::size_t framed = entry.size() + ScratchBuffer::kSlack;
    bytes += framed;
    if (framed > net::kMaxFrameBytes || (bytes > kMostAnswerBytes && !frames.empty())) {
      bytes -= framed;
      found.answers.push_back(wire::PeerAnswer::kNothing);
      continue;
    }
    found.answers.push_back(wire::PeerAnswer::kFound);
    found.sizes.push_back(entry.size());
    found.costs_ns.push_back(
        static_cast<std::uint64_t>(std::max<std::int64_t>(pin->cost().count(), 0)));
    frames.push_back({ByteSpan(entry.data(), framed), pin});
    if (pending.find.take) parts_.cache->Forget(KeyOf(pending.find.keys[i]));
  }
  parts_.send(pending.peer, std::move(found), std::move(frames));
}

bool PeerDesk::GiveClaim(WorkerId worker, std::shared_ptr<EntryClaim> claim) {
  if (claims_.size() >= kMostClaims) return false;
  const SteadyTime until = parts_.reactor.clock().Now() + kClaimFor;
  const CacheKey key = claim->key();
  claims_.insert_or_assign(EntryId::Of(key), Claimed{worker, key, std::move(claim), until});
  if (timer_ == 0) timer_ = parts_.reactor.AddTimer(kLook, [this] { DropOldClaims(); });
  return true;
}

void PeerDesk::DropOldClaims() {
  const SteadyTime now = parts_.reactor.clock().Now();
  std::erase_if(claims_, [now](const auto& entry) { return entry.second.until <= now; });
  if (!claims_.empty()) return;
  parts_.reactor.CancelTimer(timer_);
  timer_ = 0;
}

void PeerDesk::OnPut(const net::Incoming& incoming, const wire::PeerPut& put) {
  if (!Admits(put.worker, put.job, put.pass)) return;
  const CacheKey key = KeyOf(put.key);
  const auto at = claims_.find(EntryId::Of(key));
  // Without a claim nothing is taken: it is late, or was never asked for.
  if (at == claims_.end() || at->second.by != put.worker || at->second.key.content != key.content) {
    return;
  }
  const auto claimed = std::make_shared<Claimed>(std::move(at->second));
  claims_.erase(at);
  if (!put.made || incoming.payload.size() != 1 ||
      incoming.payload[0].size() < ScratchBuffer::kSlack) {
    return;
  }
  jobs_.at(put.job)->NoteSize(incoming.payload[0].size());
  const Duration cost(static_cast<std::int64_t>(std::min(put.cost_ns, PeerLink::kMostCostNs)));
  // The copy is compute threads' work.
  parts_.executor.Submit(
      [claimed, frame = incoming.payload[0], owner = incoming.payload_owner, cost](ThreadContext&) {
        claimed->claim->Commit(frame.first(frame.size() - ScratchBuffer::kSlack), cost);
        claimed->claim.reset();
      });
}

}  // namespace headrace::dataworker
