#include "coordinator/message_checks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

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
    return !sample.held_back || sample.row < 0 || state.IsHeldBack(sample) ||
           std::ranges::find(m.data_sets, sample.data_set) == m.data_sets.end();
  });
  return samples;
}

std::vector<wire::UnfitWorker> LeasedUnfit(std::vector<wire::UnfitWorker> unfit,
                                           const std::set<WorkerId>& leases) {
  std::erase_if(unfit, [&](const auto& worker) { return !leases.contains(worker.worker); });
  return wire::Bounded(std::move(unfit));
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
  }
  HR_RETURN_IF_ERROR(CheckText("arena path", m.info.arena_path));
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
