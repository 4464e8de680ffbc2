#include "coordinator/simulate/running_job.h"

#include <algorithm>
#include <cmath>

namespace headrace::simulate {

using coordinator::kUnlimited;
using coordinator::Terms;

RunningJob::RunningJob(const Job& job, std::size_t position, const Cluster& cluster)
    : remaining(job.samples()), job_(&job), fair_cores_(job.gpus * cluster.cpu_per_gpu) {
  outcome.job = position;
  SetTerms(1);
  StepRamp();
  const double share = static_cast<double>(job.gpus) / cluster.gpus;
  double fair_hit = 0;
  if (job.dataset >= 0) reading.dataset = static_cast<std::size_t>(job.dataset);
  if (job.dataset >= 0 && job.sample_bytes > 0) {
    fair_hit = share * cluster.cache_bytes;  // in bytes; a share once the size is known
  }
  fair_rate_ = fair_hit;
}

}  // namespace headrace::simulate
