#include "trainer_client/session/trials.h"

#include "base/hash.h"

namespace headrace::client {

void Trials::Ready(WorkerId worker, bool reference) {
  const auto [at, added] = workers_.try_emplace(worker);
  if (added && reference) at->second.standing = Standing::kReference;
  at->second.away = false;
}

void Trials::Away(WorkerId worker) {
  if (const auto at = workers_.find(worker); at != workers_.end()) at->second.away = true;
}

void Trials::Gone(WorkerId worker) {
  const auto at = workers_.find(worker);
  if (at == workers_.end()) return;
  at->second.away = true;
  if (at->second.standing != Standing::kWithdrawn) workers_.erase(at);
}

Trials::Standing Trials::standing(WorkerId worker) const {
  const auto at = workers_.find(worker);
  return at == workers_.end() ? Standing::kUnknown : at->second.standing;
}

WorkerId Trials::Reference() const {
  for (const auto& [id, entry] : workers_) {
    if (entry.standing == Standing::kReference && !entry.away) return id;
  }
  return {};
}

std::vector<Trials::Shadow> Trials::OnSent(WorkerId worker, std::int64_t ticket) {
  std::vector<Shadow> shadows;
  const auto asked = workers_.find(worker);
  if (asked == workers_.end()) return shadows;
  if (asked->second.standing == Standing::kReference) {
    for (auto& [id, entry] : workers_) {
      if (entry.standing != Standing::kOnTrial || entry.away || entry.open) continue;
      entry.open = true;
      shadows.push_back({.maker = id, .tried = id});
    }
  } else if (asked->second.standing == Standing::kTrusted && !asked->second.open) {
    // Not every n-th: the same samples would be compared in each epoch.
    if (options_.compare_every == 0) return shadows;
    if (MixBits(static_cast<std::uint64_t>(ticket)) % options_.compare_every != 0) return shadows;
    const WorkerId reference = Reference();
    if (!reference.valid()) return shadows;
    asked->second.open = true;
    shadows.push_back({.maker = reference, .tried = worker});
  }
  return shadows;
}

void Trials::OnLost(WorkerId tried) {
  if (const auto at = workers_.find(tried); at != workers_.end()) at->second.open = false;
}

void Trials::Doubt(WorkerId worker) {
  const auto at = workers_.find(worker);
  if (at == workers_.end() || at->second.standing != Standing::kTrusted) return;
  at->second.standing = Standing::kOnTrial;
  at->second.equal = 0;
}

Trials::Standing Trials::OnCompared(WorkerId tried, bool equal) {
  const auto at = workers_.find(tried);
  if (at == workers_.end()) return Standing::kUnknown;
  Entry& entry = at->second;
  entry.open = false;
  if (!equal) {
    entry.standing = Standing::kWithdrawn;
  } else if (entry.standing == Standing::kOnTrial && ++entry.equal >= options_.equal_for_trust) {
    entry.standing = Standing::kTrusted;
  }
  return entry.standing;
}

}  // namespace headrace::client
