#include "coordinator/pool_keeper.h"

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>
#include <variant>

#include "base/log.h"
#include "coordinator/drain_choice.h"

namespace headrace::coordinator {
namespace {

// After a member was asked to end. A worker that is asked by its engine leaves within 10 s.
constexpr Duration kGrace = std::chrono::seconds(15);

}  // namespace

PoolKeeper::PoolKeeper(net::Reactor& reactor, Options options)
    : reactor_(reactor),
      options_(options),
      sizer_({options.least, std::max(options.least, options.most), options.idle_after}),
      watch_(options.patience) {}

PoolEvents PoolKeeper::Events(std::function<void(WorkerId, double)> on_ended) {
  return {.on_ended = std::move(on_ended),
          .on_failed = [this](std::int32_t, const Status& why) { Complain(why); }};
}

Status PoolKeeper::Begin(std::unique_ptr<Pool> pool, const State& state) {
  pool_ = std::move(pool);
  for (const auto& [id, worker] : state.workers()) {
    pool_->Registered(worker.info);
    if (worker.draining) (void)pool_->Drain(id);
  }
  if (!pool_->ready()) return Status::Ok();
  const auto members = static_cast<std::int32_t>(pool_->List().size());
  return pool_->Grow(std::max(options_.least - members, 0));
}

void PoolKeeper::Tell(const Update& update, const State& state) {
  if (const auto* added = std::get_if<AddWorker>(&update)) {
    pool_->Registered(added->info);
    if (!IsMember(added->info.worker)) return;
    if (const std::string news = growth_.Came(Now()); !news.empty()) LogInfo(news);
  } else if (const auto* removed = std::get_if<RemoveWorker>(&update)) {
    pool_->Left(removed->worker);
  } else if (const auto* lost = std::get_if<MarkWorkerLost>(&update)) {
    pool_->Lost(lost->worker);
  } else if (const auto* revived = std::get_if<ReviveWorker>(&update)) {
    if (const Worker* worker = state.FindWorker(revived->worker)) pool_->Registered(worker->info);
  } else if (const auto* drained = std::get_if<DrainWorker>(&update)) {
    pool_->Leaving(drained->worker);
  }
}

std::vector<WorkerId> PoolKeeper::Resize(const State& state, double demand_cores) {
  if (std::max(options_.least, options_.most) <= 0 || !pool_->ready()) return {};
  std::set<WorkerId> members;
  const std::int32_t change = sizer_.Observe(View(state, demand_cores, members), Now());
  if (!pool_->starts_workers()) return {};
  if (change > 0 && growth_.MayTry(Now())) {
    if (Status taken_on = pool_->Grow(change); !taken_on.ok()) Complain(taken_on);
  }
  std::int32_t spare = std::max(-change, 0);
  // What has not come yet costs nobody anything: the last ones first.
  for (const PoolMember& member : std::views::reverse(pool_->List())) {
    if (spare == 0) break;
    if (member.state != PoolMember::State::kQueued || member.handle.empty()) continue;
    Kill(member.handle, Duration::zero());
    --spare;
  }
  std::vector<WorkerId> drained;
  for (; spare > 0; --spare) {
    const WorkerId id = LeastUsed(state, members);
    if (!id.valid()) break;
    members.erase(id);
    drained.push_back(id);
  }
  return drained;
}

PoolView PoolKeeper::View(const State& state, double demand_cores,
                          std::set<WorkerId>& members) const {
  PoolView view;
  view.demand_cores = demand_cores;
  view.member_cores = pool_->member_cores() > 0 ? pool_->member_cores() : options_.member_cores;
  for (const PoolMember& member : pool_->List()) {
    if (member.worker.valid()) members.insert(member.worker);
    if (member.state == PoolMember::State::kDraining) continue;
    if (member.state != PoolMember::State::kLost) ++view.members;
  }
  double cores_of_members = 0, speeds = 0;
  std::int32_t known = 0;
  for (const auto& [id, worker] : state.workers()) {
    if (worker.info.local) continue;
    if (members.contains(id)) {
      cores_of_members += worker.info.usable_cores() * state.speeds().Of(id);
      speeds += state.speeds().Of(id);
      ++known;
    } else if (worker.leasable()) {
      view.other_cores += worker.info.usable_cores() * state.speeds().Of(id);
    }
  }
  // Others have started them, as they like.
  if (!pool_->starts_workers() && known > 0) {
    view.member_cores = cores_of_members / known;
  } else if (known > 0) {  // those to come will be as fast as those that are here
    view.member_cores *= speeds / known;
  }
  return view;
}

void PoolKeeper::Look() {
  const PoolWatch::Verdict verdict = watch_.Observe(pool_->List(), Now());
  if (!verdict.news.empty()) LogInfo(verdict.news);
  for (const Status& failure : verdict.failures) Complain(failure);
  for (const std::string& handle : verdict.kill) Kill(handle, kGrace);
}

PoolReport PoolKeeper::Describe() const {
  if (!pool_) return {};
  return {.name = std::string(pool_->name()),
          .least = options_.least,
          .most = options_.most,
          .wanted = sizer_.wanted(),
          .members = pool_->List()};
}

Status PoolKeeper::Drain(WorkerId worker) {
  const Status drained = pool_->Drain(worker);
  return drained.code() == Code::kNotFound ? Status::Ok() : drained;
}

std::optional<bool> PoolKeeper::Alive(WorkerId worker) const { return pool_->Alive(worker); }

void PoolKeeper::Stop() {
  if (pool_) pool_->Stop();
}

bool PoolKeeper::IsMember(WorkerId worker) const {
  return std::ranges::any_of(pool_->List(),
                             [&](const auto& each) { return each.worker == worker; });
}

// Each cause is said once.
void PoolKeeper::Complain(const Status& why) {
  if (const std::string line = growth_.Failed(why, Now()); !line.empty()) LogWarning(line);
}

void PoolKeeper::Kill(const std::string& handle, Duration grace) {
  if (Status s = pool_->Kill(handle, grace); !s.ok()) LogWarning("pool: " + s.message());
}

}  // namespace headrace::coordinator
