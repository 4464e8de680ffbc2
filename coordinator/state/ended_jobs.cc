#include "coordinator/state/ended_jobs.h"

namespace headrace::coordinator {

void EndedJobs::Add(const wire::EndedJob& job) {
  jobs_.push_back(std::make_shared<const wire::EndedJob>(job));
  if (jobs_.size() > kMost) jobs_.pop_front();
}

}  // namespace headrace::coordinator
