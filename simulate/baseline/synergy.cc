#include <algorithm>
#include <cmath>

#include "simulate/baseline/baseline.h"

namespace headrace::simulate {
namespace {

// Synergy-tune (Mohan et al., OSDI 2022). Each job asks for the cores at which its profile is flat.
// If they are not free, it asks for its own share, in proportion to its GPUs. If that is not free,
// jobs that hold more than their share are set back to it, the largest first. So no job is worse
// off than with `fixed`. A job's cores are on the hosts of its GPUs. Hosts have 8 GPUs, and a job
// gets at most all cores of the fewest hosts that it fits on. The simulation ignores which jobs
// share a host, which favours this baseline.
class Synergy final : public Baseline {
 public:
  [[nodiscard]] std::string_view name() const override { return "synergy"; }
  [[nodiscard]] std::string_view summary() const override {
    return "each job asks for what its profile shows, and falls back to its own share (Synergy)";
  }
  void Divide(const View& view, std::span<const std::size_t> admitted,
              std::span<double> cores) override {
    constexpr double kGpusPerHost = 8;
    double free = view.snapshot.supply.cores - view.cluster.extra_cores;
    const auto own = [&](std::size_t i) { return OwnCores(view, view.snapshot.jobs[i]); };
    for (std::size_t k = 0; k < admitted.size(); ++k) {
      const std::size_t i = admitted[k];
      const auto& job = view.snapshot.jobs[i];
      const double hosts = std::ceil(job.gpus / kGpusPerHost);
      const double best =
          std::min(NeededCores(job), hosts * kGpusPerHost * view.cluster.cpu_per_gpu);
      double want = best;
      if (want > free) want = std::min(best, own(i));
      while (want > free) {
        const auto peers = admitted.first(k);
        const auto excess = [&](std::size_t peer) { return cores[peer] - own(peer); };
        const auto largest =
            std::max_element(peers.begin(), peers.end(),
                             [&](std::size_t a, std::size_t b) { return excess(a) < excess(b); });
        if (largest == peers.end() || excess(*largest) <= 0) break;
        free += excess(*largest);
        cores[*largest] = own(*largest);
      }
      cores[i] = std::max(0.0, std::min(want, free));
      free -= cores[i];
    }
  }
};

}  // namespace

std::unique_ptr<Baseline> MakeSynergy() { return std::make_unique<Synergy>(); }

}  // namespace headrace::simulate
