#include "dataworker/peers/peer_desk.h"

#include <algorithm>
#include <utility>

#include "base/pass/pass.h"
#include "base/secret.h"
#include "dataworker/peers/peer_link.h"

namespace headrace::dataworker {
namespace {

constexpr Duration kLook = std::chrono::seconds(1);
constexpr std::size_t kSomeBytes = 1;  // of an entry, before the job has any

// What an entry of the job takes here on average, bytes.
std::size_t MeanBytes(const SampleStore& store, JobId job) {
  for (const StoreJobStats& stats : store.JobStats()) {
    if (stats.all.job != job || stats.all.entries == 0) continue;
    return static_cast<std::size_t>(stats.all.bytes / stats.all.entries);
  }
  return kSomeBytes;
}

// Whether a pass for these names opens the entry.
bool Opens(NameReach admitted, const CacheKey& key) {
  return admitted == NameReach::kHost || key.content.holds_everywhere();
}

}  // namespace

// A question some of whose entries a slow tier looks for.
struct PeerDesk::Pending {
  std::string peer;
  wire::PeerFind find;
  NameReach admitted = NameReach::kHost;
  std::vector<CachePin> pins;  // one a key
  std::size_t looking = 0;
};

PeerDesk::~PeerDesk() {
  if (timer_ != 0) parts_.reactor.CancelTimer(timer_);
}

void PeerDesk::OnDirective(const wire::WorkerDirective& directive) {
  // A coordinator that has just begun knows jobs, and no grants yet.
  if (directive.grants.empty() && !directive.jobs.empty()) return;
  std::map<JobId, std::unique_ptr<const CacheLease>> jobs;
  for (const wire::JobGrant& grant : directive.grants) {
    if (grant.peers.empty() && !grant.wide) continue;
    std::unique_ptr<const CacheLease>& lease = jobs[grant.job];
    if (const auto held = jobs_.find(grant.job); held != jobs_.end()) {
      lease = std::move(held->second);
    } else {
      lease = std::make_unique<const CacheLease>(parts_.cache, grant.job, 0);  // the grant counts
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
  pending->pins.resize(find.keys.size());
  pending->looking = 1;
  for (std::size_t i = 0; i < find.keys.size(); ++i) {
    const CacheKey key = KeyOf(find.keys[i]);
    if (!Opens(*admitted, key)) continue;
    CacheLookup found = parts_.cache->Find(find.job, key);
    pending->pins[i] = std::move(found.pin);
    if (!found.later) continue;
    ++pending->looking;
    parts_.cache->FindLater(find.job, key, found,
                            [this, alive = std::weak_ptr(alive_), pending, i,
                             &reactor = parts_.reactor](CacheLookup at) {
                              reactor.Post([this, alive, pending, i, pin = std::move(at.pin)] {
                                if (alive.expired()) return;
                                pending->pins[i] = pin;
                                if (--pending->looking == 0) Answer(*pending);
                              });
                            });
  }
  if (--pending->looking == 0) Answer(*pending);
}

void PeerDesk::Answer(Pending& pending) {
  wire::PeerFound found{.request = pending.find.request, .status = {}, .answers = {}, .sizes = {}};
  std::vector<net::PayloadFrame> frames;
  std::uint64_t bytes = 0;
  const bool misses = std::ranges::any_of(pending.pins, [](const auto& pin) { return !pin; });
  const std::size_t mean = misses ? MeanBytes(*parts_.cache, pending.find.job) : 0;
  for (std::size_t i = 0; i < pending.pins.size(); ++i) {
    if (!pending.pins[i]) {
      const CacheKey key = KeyOf(pending.find.keys[i]);
      const bool make = Opens(pending.admitted, key) &&
                        GiveClaim(pending.find.worker, pending.find.job, key, mean);
      found.answers.push_back(make ? wire::PeerAnswer::kMake : wire::PeerAnswer::kNothing);
      continue;
    }
    const auto pin = std::make_shared<const CachePin>(std::move(pending.pins[i]));
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
    frames.push_back({ByteSpan(entry.data(), framed), pin});
  }
  parts_.send(pending.peer, std::move(found), std::move(frames));
}

bool PeerDesk::GiveClaim(WorkerId worker, JobId job, const CacheKey& key, std::size_t bytes) {
  if (claims_.size() >= kMostClaims) return false;
  SampleStore::Claim claim = parts_.cache->TryClaim(job, key, bytes);
  if (!claim) return false;
  const SteadyTime until = parts_.reactor.clock().Now() + kClaimFor;
  claims_.try_emplace(EntryId::Of(key), Claimed{worker, key, std::move(claim), until});
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
  // The copy is compute threads' work.
  parts_.executor.Submit([cache = parts_.cache, claimed, frame = incoming.payload[0],
                          owner = incoming.payload_owner](ThreadContext&) {
    claimed->claim.Commit(frame.first(frame.size() - ScratchBuffer::kSlack));
  });
}

}  // namespace headrace::dataworker
