#include "coordinator/cluster_orders.h"

#include <optional>
#include <string>
#include <utility>

namespace headrace::coordinator {
namespace {

std::string NameOf(const Job& job, std::size_t ranks) {
  std::string text = "job " + std::to_string(job.spec.job.value) + " (" + job.spec.name + ")";
  if (ranks > 1) text += ", " + std::to_string(ranks) + " ranks,";
  return text;
}

// The job and the other ranks of its group.
std::vector<const Job*> RanksOf(const State& state, const Job& job) {
  std::vector<const Job*> ranks;
  for (const auto& [id, each] : state.jobs()) {
    const bool same = !job.spec.group.empty() && each.spec.group == job.spec.group &&
                      each.spec.tenant == job.spec.tenant;
    if (&each == &job || same) ranks.push_back(&each);
  }
  return ranks;
}

Status DrainWorkers(const State& state, const wire::ClusterOrder& order, ClusterOutcome& out) {
  if (order.workers.empty()) return InvalidArgument("no worker is named");
  std::size_t leaving = 0;
  for (const WorkerId id : order.workers) {
    const Worker* worker = state.FindWorker(id);
    if (worker == nullptr) {
      return NotFound("no worker " + std::to_string(id.value) + "; `headrace workers` lists them");
    }
    if (worker->draining) {
      ++leaving;
    } else {
      out.updates.emplace_back(DrainWorker{id, "by order"});
    }
  }
  const std::size_t drained = out.updates.size();
  out.reply.text = std::to_string(drained) + (drained == 1 ? " worker leaves" : " workers leave") +
                   " when what was asked of them is done";
  if (leaving > 0) out.reply.text += "; " + std::to_string(leaving) + " did already";
  return Status::Ok();
}

Status OrderJobs(const State& state, const wire::ClusterOrder& order, ClusterOutcome& out) {
  const Job* job = state.FindJob(order.job);
  if (job == nullptr) {
    return NotFound("no job " + std::to_string(order.job.value) + "; `headrace jobs` lists them");
  }
  const std::vector<const Job*> ranks = RanksOf(state, *job);
  for (const Job* rank : ranks) {
    OrderJob update{rank->spec.job, rank->cancelled, rank->ordered_priority};
    if (order.action == wire::ClusterAction::kSetPriority) {
      update.priority = order.priority;
    } else {
      update.cancelled = order.action == wire::ClusterAction::kCancel;
    }
    if (update == OrderJob{rank->spec.job, rank->cancelled, rank->ordered_priority}) continue;
    out.updates.emplace_back(update);
  }
  const std::string name = NameOf(*job, ranks.size());
  switch (order.action) {
    case wire::ClusterAction::kCancel:
      out.reply.text = name + " gets no worker any more; its program goes on without";
      break;
    case wire::ClusterAction::kResume:
      out.reply.text = name + " gets workers again";
      break;
    default:
      out.reply.text = name + " has priority " + std::to_string(order.priority);
  }
  return Status::Ok();
}

Status Act(const State& state, const wire::ClusterOrder& order, ClusterOutcome& out) {
  switch (order.action) {
    case wire::ClusterAction::kDrain:
      return DrainWorkers(state, order, out);
    case wire::ClusterAction::kCancel:
    case wire::ClusterAction::kResume:
    case wire::ClusterAction::kSetPriority:
      return OrderJobs(state, order, out);
    case wire::ClusterAction::kUnknown:
      break;
  }
  return InvalidArgument("an order that this coordinator does not know; use its release");
}

}  // namespace

ClusterOutcome TakeOrder(const State& state, const wire::ClusterOrder& order) {
  ClusterOutcome out;
  out.reply.request = order.request;
  out.reply.status = Act(state, order, out);
  if (!out.reply.status.ok()) {
    out.updates.clear();
    out.reply.text.clear();
  }
  return out;
}

}  // namespace headrace::coordinator
