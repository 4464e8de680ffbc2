#include <algorithm>
#include <numeric>

#include "simulate/baseline/baseline.h"

namespace headrace::simulate {
namespace {

// Synergy (Mohan et al., OSDI 2022). No job is worse off than with `fixed`: it has its own share, in
// proportion to its GPUs, as far as its profile uses it. What others leave of theirs is free.
//
//   tune  gives what is free in order of arrival, up to where a job's profile is flat
//   opt   gives it where it adds most throughput, each job's over that with its own share: the paper's
//         linear program. It has one resource here, and profiles are linear until they are flat, so a
//         greedy order solves it exactly.
//
// In the paper a job's cores are on the hosts of its GPUs. Here they may be on any, as if its input were made
// elsewhere too, which favours both: with the paper's bound a job of 8 GPUs never has more than its own
// share. The paper's tune gives a job all that it asks for or its own share, and takes the excess back from
// others when needed; giving a part was better for it in every trace that was tried.
class Synergy final : public Baseline {
 public:
  explicit Synergy(bool opt) : opt_(opt) {}
  [[nodiscard]] std::string_view name() const override { return opt_ ? "synergy-opt" : "synergy"; }
  [[nodiscard]] std::string_view summary() const override {
    return opt_ ? "each job has its own share; the rest where it adds most throughput (Synergy-Opt)"
                : "each job has its own share; the rest first come, first served (Synergy-Tune)";
  }
  void Divide(const View& view, std::span<const std::size_t> admitted,
              std::span<double> cores) override {
    double free = view.snapshot.supply.cores - view.cluster.extra_cores;
    std::vector<double> most(admitted.size()), gain(admitted.size());
    for (std::size_t k = 0; k < admitted.size(); ++k) {
      const auto& job = view.snapshot.jobs[admitted[k]];
      most[k] = NeededCores(job);
      const double own = std::min(most[k], OwnCores(view, job));
      // Of its throughput with its own share, for each core more.
      gain[k] = own > 0 ? 1 / own : 0;
      cores[admitted[k]] = std::clamp(own, 0.0, std::max(0.0, free));
      free -= cores[admitted[k]];
    }
    std::vector<std::size_t> order(admitted.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (opt_) std::ranges::stable_sort(order, [&](auto a, auto b) { return gain[a] > gain[b]; });
    for (const std::size_t k : order) {
      double& given = cores[admitted[k]];
      const double more = std::clamp(most[k] - given, 0.0, std::max(0.0, free));
      given += more;
      free -= more;
    }
  }

 private:
  const bool opt_;
};

}  // namespace

std::unique_ptr<Baseline> MakeSynergy() { return std::make_unique<Synergy>(false); }
std::unique_ptr<Baseline> MakeSynergyOpt() { return std::make_unique<Synergy>(true); }

}  // namespace headrace::simulate
