#include "simulate/baseline/baseline.h"

namespace headrace::simulate {
namespace {

// The usual cluster: cores come with GPUs, and no other job can use them.
class Fixed final : public Baseline {
 public:
  [[nodiscard]] std::string_view name() const override { return "fixed"; }
  [[nodiscard]] std::string_view summary() const override {
    return "each job has the cores of its own GPUs' hosts, in proportion to its GPUs";
  }
  void Divide(const View& view, std::span<const std::size_t> admitted,
              std::span<double> cores) override {
    for (const std::size_t i : admitted) cores[i] = OwnCores(view, view.snapshot.jobs[i]);
  }
};

}  // namespace

std::unique_ptr<Baseline> MakeFixed() { return std::make_unique<Fixed>(); }

}  // namespace headrace::simulate
