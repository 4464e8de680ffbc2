#include <algorithm>
#include <cmath>

#include "simulate/baseline/baseline.h"

namespace headrace::simulate {
namespace {

// Placement of workers by Pecan (Graur et al., ATC 2024), AutoPlacement: a job's workers run on the spare cores of
// its accelerators' hosts first, and on hosts of their own only for what these cannot make. The paper buys a job
// as many of those as it needs. Here they are a pool, which serves jobs as they come; a worker there is a core.
// AutoOrder changes the order of a program's operators, which would change its batches.
class Pecan final : public Baseline {
 public:
  [[nodiscard]] std::string_view name() const override { return "pecan"; }
  [[nodiscard]] std::string_view summary() const override {
    return "the cores of its own GPUs' hosts first, then workers beside them, first come, first "
           "served (Pecan)";
  }
  void Divide(const View& view, std::span<const std::size_t> admitted,
              std::span<double> cores) override {
    double free = view.cluster.extra_cores;
    for (const std::size_t i : admitted) {
      const auto& job = view.snapshot.jobs[i];
      const double needed = NeededCores(job);
      const double own = std::min(needed, OwnCores(view, job));
      const double bought = std::clamp(std::ceil(needed - own - 1e-9), 0.0, std::floor(free));
      cores[i] = own + bought;
      free -= bought;
    }
  }
};

}  // namespace

std::unique_ptr<Baseline> MakePecan() { return std::make_unique<Pecan>(); }

}  // namespace headrace::simulate
