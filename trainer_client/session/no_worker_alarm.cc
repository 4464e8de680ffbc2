#include "trainer_client/session/no_worker_alarm.h"

#include <utility>

namespace headrace::client {

Status NoWorkerAlarm::Check(const WorkerSet& workers, std::size_t ready, SteadyTime now) {
  if (ready > 0) {
    since_ = now;
    return Status::Ok();
  }
  const bool patient = !workers.had_reference() && now - started_ < options_.reference_patience;
  if (!patient) HR_RETURN_IF_ERROR(workers.AllRefuse());
  if (workers.loading()) since_ = now;
  if (now - since_ < options_.timeout) return Status::Ok();
  std::string message = workers.nothing_leased() ? "no data worker serves this job"
                                                 : "no data worker of this job can be reached";
  if (!workers.last_refusal().ok()) message += " (" + workers.last_refusal().ToString() + ")";
  return Unavailable(message + "; " + options_.remedy);
}

}  // namespace headrace::client
