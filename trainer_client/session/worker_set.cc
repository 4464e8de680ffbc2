#include "trainer_client/session/worker_set.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace headrace::client {

WorkerSet::WorkerSet(net::Reactor& reactor, LinkContext& context, bool compares, Events events)
    : reactor_(reactor), context_(context), compares_(compares), events_(std::move(events)) {}

void WorkerSet::SetLeases(const std::vector<wire::WorkerInfo>& workers, SteadyTime now) {
  std::map<WorkerId, wire::WorkerInfo> leased;
  for (wire::WorkerInfo worker : workers) {
    const WorkerId outside = worker.worker;
    worker.worker = OwnId(worker, leased);
    outside_ids_[worker.worker] = outside;
    leased.emplace(worker.worker, std::move(worker));
  }
  leased_ = std::move(leased);
  std::erase_if(outside_ids_, [&](const auto& entry) {
    return !leased_.contains(entry.first) && !links_.contains(entry.first);
  });
  std::erase_if(ended_, [&](const auto& entry) { return !leased_.contains(entry.first); });
  std::erase_if(refused_, [&](const auto& entry) { return !leased_.contains(entry.first); });
  std::erase_if(unreached_, [&](const auto& entry) { return !leased_.contains(entry.first); });
  for (const auto& [id, worker] : leased_) {
    if (const auto link = links_.find(id); link != links_.end()) link->second->SetPass(worker.pass);
    if (links_.contains(id) || ended_.contains(id) || refused_.contains(id)) continue;
    AddLink(worker, now);
  }
}

WorkerId WorkerSet::OwnId(const wire::WorkerInfo& worker,
                          const std::map<WorkerId, wire::WorkerInfo>& taken) const {
  for (const auto& [id, link] : links_) {
    if (SameProcess(link->worker(), worker)) return id;
  }
  for (const auto& [id, leased] : leased_) {
    if (SameProcess(leased, worker)) return id;
  }
  WorkerId id = worker.worker;
  while (links_.contains(id) || leased_.contains(id) || taken.contains(id)) ++id.value;
  return id;
}

void WorkerSet::AddLink(const wire::WorkerInfo& worker, SteadyTime now) {
  unreached_.erase(worker.worker);
  if (std::ranges::any_of(withdrawn_, [&](const auto& w) { return SameProcess(w, worker); })) {
    refused_[worker.worker] = Unsupported("its batches were others than this host's");
    return;
  }
  WorkerLink::Events events;
  events.on_state = [this](WorkerId id, WorkerLink::State state) { OnState(id, state); };
  events.on_message = [this](WorkerId id, net::Incoming&& incoming) {
    events_.on_message(id, std::move(incoming));
  };
  events.on_loaded = [this, id = worker.worker] {
    if (Serves(id)) events_.on_loaded();
  };
  events.on_lost = [this](WorkerId id) { events_.on_lost(id); };
  auto link = WorkerLink::Open(reactor_, context_, worker, std::move(events));
  if (!link.ok()) {
    last_refusal_ = link.status();
    if (link.status().code() == Code::kUnsupported) {
      refused_[worker.worker] = link.status();
      return;
    }
    LogWarning("worker not reached error=\"" + link.status().ToString() + "\"");
    ended_[worker.worker] = now;
    unreached_[worker.worker] = link.status();
    return;
  }
  links_.emplace(worker.worker, std::move(link).value());
}

void WorkerSet::OnState(WorkerId worker, WorkerLink::State state) {
  const WorkerLink* link = Find(worker);
  if (state == WorkerLink::State::kReady && link != nullptr && link->given_lanes()) {
    had_reference_ = true;
  } else if (state == WorkerLink::State::kGone) {
    if (link != nullptr && !link->refusal().ok()) {
      refused_[worker] = link->refusal();
    } else {
      ended_[worker] = reactor_.clock().Now();
    }
    LogInfo("worker gone worker=" + std::to_string(worker.value));
  }
  events_.on_state(worker, state);
}

void WorkerSet::Tick(SteadyTime now) {
  for (const auto& [id, link] : links_) link->Tick();
  std::vector<WorkerId> again;
  for (const auto& [id, since] : ended_) {
    if (now - since >= kRelinkAfter && leased_.contains(id)) again.push_back(id);
  }
  for (const WorkerId id : again) {
    if (links_.contains(id)) continue;
    ended_.erase(id);
    AddLink(leased_.at(id), now);
  }
}

void WorkerSet::RemoveEnded(bool served, const std::function<bool(WorkerId)>& owes,
                            const std::function<void(WorkerId)>& ended) {
  for (auto it = links_.begin(); it != links_.end();) {
    const auto& [id, link] = *it;
    if (!link->refusal().ok() && link->refusal() != last_refusal_) {
      last_refusal_ = link->refusal();
      // If no other worker serves, the trainer gets a message of its own.
      Log(served ? LogLevel::kWarning : LogLevel::kInfo,
          "worker refused worker=" + std::to_string(id.value) + " error=\"" +
              last_refusal_.ToString() + "\"");
    }
    if (link->state() != WorkerLink::State::kGone && (leased_.contains(id) || owes(id))) {
      ++it;
      continue;
    }
    ended(id);
    it = links_.erase(it);
  }
}

void WorkerSet::Clear() {
  links_.clear();
  leased_.clear();
}

WorkerLink* WorkerSet::Find(WorkerId worker) const {
  const auto at = links_.find(worker);
  return at == links_.end() ? nullptr : at->second.get();
}

bool WorkerSet::ready(WorkerId worker) const {
  const WorkerLink* link = Find(worker);
  return link != nullptr && link->state() == WorkerLink::State::kReady;
}

std::vector<WorkerId> WorkerSet::AllReady() const {
  std::vector<WorkerId> ready;
  for (const auto& [id, link] : links_) {
    if (link->state() == WorkerLink::State::kReady) ready.push_back(id);
  }
  return ready;
}

WorkerId WorkerSet::Outside(WorkerId worker) const {
  const auto at = outside_ids_.find(worker);
  return at == outside_ids_.end() ? worker : at->second;
}

std::string WorkerSet::HostOf(WorkerId worker) const {
  const WorkerLink* link = Find(worker);
  return link == nullptr ? "" : link->worker().host.hostname;
}

bool WorkerSet::Serves(WorkerId worker) const {
  if (!compares_) return true;
  const WorkerLink* link = Find(worker);
  return link != nullptr && link->given_lanes();
}

bool WorkerSet::loading() const {
  return std::ranges::any_of(links_, [](const auto& entry) { return entry.second->loading(); });
}

void WorkerSet::Withdraw(WorkerId worker, const Status& why, bool for_good) {
  refused_[worker] = why;
  WorkerLink* link = Find(worker);
  if (link == nullptr) return;
  if (for_good) withdrawn_.push_back(link->worker());
  link->Withdraw(why);
}

void WorkerSet::AddSuspects(std::vector<WorkerId>& suspects) const {
  for (const auto& [id, since] : ended_) suspects.push_back(Outside(id));
  for (const auto& [id, link] : links_) {
    if (link->mute()) suspects.push_back(Outside(id));
  }
}

void WorkerSet::AddUnfit(const std::map<WorkerId, std::string>& others,
                         const std::map<WorkerId, std::string>& slow,
                         std::vector<wire::UnfitWorker>& unfit) const {
  const auto add = [&](WorkerId worker, const std::string& why, bool is_slow = false) {
    if (leased_.contains(worker)) unfit.push_back({Outside(worker), why, is_slow});
  };
  for (const auto& [worker, why] : refused_) add(worker, why.message());
  for (const auto& [worker, why] : unreached_) add(worker, why.message());
  for (const auto& [worker, link] : links_) {
    const bool never = link->state() == WorkerLink::State::kAttaching && link->mute();
    if (never) add(worker, "does not answer at " + link->worker().endpoints.front());
    if (!never && !link->no_room().ok()) add(worker, "is full: " + link->no_room().message());
  }
  for (const auto& [worker, why] : others) add(worker, why);
  for (const auto& [worker, why] : slow) add(worker, why, true);
}

Status WorkerSet::NoRoom() const {
  for (const auto& [worker, link] : links_) {
    if (!link->no_room().ok()) return link->no_room();
  }
  return {};
}

Status WorkerSet::AllRefuse() const {
  std::string message;
  for (const auto& [id, worker] : leased_) {
    message += (message.empty() ? "worker " : "; worker ") + std::to_string(id.value) + " on " +
               worker.host.hostname;
    if (const auto refused = refused_.find(id); refused != refused_.end()) {
      message += ": " + refused->second.message();
      continue;
    }
    // Without a reference there is nothing with which to compare a worker's batches.
    const bool unproved = compares_ && !had_reference_ && links_.contains(id) && !Serves(id);
    if (!unproved) return Status::Ok();
    message += " has to be compared with this host, where no worker serves this program";
  }
  if (message.empty()) return Status::Ok();
  return {refused_.empty() ? Code::kUnsupported : refused_.begin()->second.code(), message};
}

}  // namespace headrace::client
