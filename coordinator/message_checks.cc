#include "coordinator/message_checks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "base/plain_text.h"
#include "base/secret.h"
#include "schemas/wire/bad_samples.h"
#include "schemas/wire/unfit_workers.h"

namespace headrace::coordinator {
namespace {

constexpr std::size_t kMinTokenChars = 8;
constexpr std::size_t kMaxTextChars = 4096;
constexpr std::size_t kMaxEndpoints = 64;
// Most cores of one worker. Millicores of a lease have 32 bits.
constexpr std::int32_t kMaxCores = 65536;

Status CheckToken(const std::string& token) {
  if (token.size() < kMinTokenChars) return InvalidArgument("token is too short");
  return CheckText("token", token);
}

// `known`: the token of the job or worker; nullptr: there is none.
Status CheckSender(const std::string& who, const std::string* known, std::string_view token) {
  if (token.empty()) {
    return InvalidArgument("a message without the token of " + who +
                           "; use the coordinator's release everywhere");
  }
  if (known != nullptr && SameSecret(*known, token)) return Status::Ok();
  return NoSession(who +
                   " is not known to this coordinator by that token (was it restarted?); introduce "
                   "yourself again");
}

}  // namespace

Status CheckSender(const State& state, JobId job, std::string_view token) {
  const Job* known = state.FindJob(job);
  return CheckSender("job " + std::to_string(job.value), known ? &known->spec.token : nullptr,
                     token);
}

Status CheckSender(const State& state, WorkerId worker, std::string_view token) {
  const Worker* known = state.FindWorker(worker);
  return CheckSender("worker " + std::to_string(worker.value), known ? &known->token : nullptr,
                     token);
}

Status CheckSender(const State& state, const wire::ConsumerHeartbeat& m) {
  HR_RETURN_IF_ERROR(CheckSender(state, m.job, m.token));
  if (state.FindJob(m.job)->spec.consumer == m.consumer) return Status::Ok();
  return NoSession("job " + std::to_string(m.job.value) + " has another consumer");
}

std::vector<wire::BadSample> NewlyHeldBack(const State& state, const wire::ConsumerHeartbeat& m) {
  std::vector<wire::BadSample> samples = wire::Bounded(m.bad);
  std::erase_if(samples, [&](const wire::BadSample& sample) {
    return !sample.held_back || sample.row < 0 || !state.held_back().Takes(sample) ||
           std::ranges::find(m.data_sets, sample.data_set) == m.data_sets.end();
  });
  return samples;
}

std::vector<wire::UnfitWorker> LeasedUnfit(std::vector<wire::UnfitWorker> unfit,
                                           const std::set<WorkerId>& leases) {
  std::erase_if(unfit, [&](const auto& worker) { return !leases.contains(worker.worker); });
  return wire::Bounded(std::move(unfit));
}

Status CheckRoom(const Quotas& quotas, const State& state, const wire::OpenJob& m) {
  // kResourceExhausted, so that the client asks again: others may end.
  const auto has_room = [](const Quota& quota, std::uint64_t wanted) {
    const Status status = quota.Check(wanted);
    return status.ok() ? status : ResourceExhausted(status.message());
  };
  HR_RETURN_IF_ERROR(has_room(quotas.jobs, state.jobs().size() + 1));
  const auto of_tenant = std::ranges::count_if(
      state.jobs(), [&](const auto& job) { return job.second.spec.tenant == m.tenant; });
  return has_room(quotas.jobs_of_a_tenant, static_cast<std::uint64_t>(of_tenant) + 1);
}

Status CheckRoom(const Quotas& quotas, const Job& job, std::uint64_t plan_bytes) {
  HR_RETURN_IF_ERROR(quotas.plan_bytes.Check(plan_bytes));
  return quotas.sessions.Check(job.sessions.size() + 1);
}

Status CheckRoom(const Quotas& quotas, const State& state) {
  const auto here = std::ranges::count_if(
      state.workers(), [](const auto& each) { return each.second.phase != Worker::Phase::kLost; });
  return quotas.workers.Check(static_cast<std::uint64_t>(here) + 1);
}

void MakeNamesPlain(wire::Body& body) {
  const auto plain = [](std::string& name) {
    if (name.size() > kMostNameBytes || !IsPlainText(name)) name = PlainText(name, kMostNameBytes);
  };
  if (auto* job = std::get_if<wire::OpenJob>(&body)) {
    plain(job->name);
    plain(job->tenant);
    plain(job->group);
    plain(job->rack);
    plain(job->version);
    plain(job->host.hostname);
    plain(job->host.boot_id);
  } else if (auto* session = std::get_if<wire::OpenSession>(&body)) {
    plain(session->plan.name);
  } else if (auto* worker = std::get_if<wire::RegisterWorker>(&body)) {
    plain(worker->info.version);
    plain(worker->info.rack);
    plain(worker->info.member);
    plain(worker->info.host.hostname);
    plain(worker->info.host.boot_id);
    for (wire::TierBytes& tier : worker->info.tiers) plain(tier.tier);
  } else if (auto* beat = std::get_if<wire::WorkerHeartbeat>(&body)) {
    for (wire::TierUse& tier : beat->tiers) plain(tier.tier);
  } else if (auto* client = std::get_if<wire::ConsumerHeartbeat>(&body)) {
    for (wire::UnfitWorker& unfit : client->unfit) {
      if (!IsPlainText(unfit.reason)) unfit.reason = PlainText(unfit.reason);
    }
    for (wire::SessionLoad& load : client->sessions) {
      for (wire::TierHits& tier : load.tiers) plain(tier.tier);
    }
  }
}

Status CheckText(std::string_view what, const std::string& text) {
  if (text.size() <= kMaxTextChars) return Status::Ok();
  return InvalidArgument(std::string(what) + " of " + std::to_string(text.size()) +
                         " bytes; at most " + std::to_string(kMaxTextChars));
}

Status CheckMessage(const wire::OpenJob& m) {
  HR_RETURN_IF_ERROR(CheckToken(m.token));
  HR_RETURN_IF_ERROR(CheckText("job name", m.name));
  HR_RETURN_IF_ERROR(CheckText("tenant", m.tenant));
  HR_RETURN_IF_ERROR(CheckText("group", m.group));
  if (m.wanted_workers < 0) return InvalidArgument("a negative number of workers");
  return Status::Ok();
}

Status CheckMessage(const wire::RegisterWorker& m) {
  HR_RETURN_IF_ERROR(CheckToken(m.token));
  if (m.info.cores < 1) return InvalidArgument("a worker without cores");
  if (m.info.cores > kMaxCores) {
    return InvalidArgument("a worker of " + std::to_string(m.info.cores) + " cores; at most " +
                           std::to_string(kMaxCores));
  }
  if (m.info.endpoints.empty() || m.info.endpoints.size() > kMaxEndpoints) {
    return InvalidArgument("a worker needs 1 to " + std::to_string(kMaxEndpoints) +
                           " endpoints, not " + std::to_string(m.info.endpoints.size()));
  }
  for (const std::string& endpoint : m.info.endpoints) {
    HR_RETURN_IF_ERROR(CheckText("endpoint", endpoint));
    if (!IsPlainText(endpoint)) return InvalidArgument("an endpoint with control characters");
  }
  if (!IsPlainText(m.info.arena_path)) {
    return InvalidArgument("an arena path with control characters");
  }
  HR_RETURN_IF_ERROR(CheckText("arena path", m.info.arena_path));
  HR_RETURN_IF_ERROR(CheckText("pool member", m.info.member));
  return CheckText("host name", m.info.host.hostname);
}

Status CheckNeeded(const State& state, const wire::WorkerInfo& local) {
  for (const auto& [id, worker] : state.workers()) {
    const wire::HostIdentity& host = worker.info.host;
    if (worker.leasable() && !worker.info.local && host.hostname == local.host.hostname &&
        host.boot_id == local.host.boot_id) {
      return Infeasible(host.hostname + " has worker " + std::to_string(id.value) + " already");
    }
  }
  return Status::Ok();
}

}  // namespace headrace::coordinator
