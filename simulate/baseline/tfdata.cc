#include <algorithm>
#include <cmath>

#include "simulate/baseline/baseline.h"

namespace headrace::simulate {
namespace {

// The autoscaler of tf.data service (Audibert et al., SoCC 2023). The number of workers is the
// trainer's rate divided by a worker's throughput, rounded up, at least one. A worker is a core. It
// considers only one job, so a shared pool serves jobs as they come; each keeps one worker.
class Tfdata final : public Baseline {
 public:
  [[nodiscard]] std::string_view name() const override { return "tfdata"; }
  [[nodiscard]] std::string_view summary() const override {
    return "workers by rate over throughput, first come, first served (tf.data service)";
  }
  void Divide(const View& view, std::span<const std::size_t> admitted,
              std::span<double> cores) override {
    if (admitted.empty()) return;
    const double supply = std::max(0.0, view.snapshot.supply.cores);
    const double least = std::min(1.0, supply / static_cast<double>(admitted.size()));
    double free = supply - least * static_cast<double>(admitted.size());
    for (const std::size_t i : admitted) {
      const double wanted = std::max(1.0, std::ceil(NeededCores(view.snapshot.jobs[i]) - 1e-9));
      const double more = std::clamp(wanted - least, 0.0, free);
      cores[i] = least + more;
      free -= more;
    }
  }
};

}  // namespace

std::unique_ptr<Baseline> MakeTfdata() { return std::make_unique<Tfdata>(); }

}  // namespace headrace::simulate
