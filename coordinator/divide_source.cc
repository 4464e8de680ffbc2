#include "coordinator/divide_source.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "coordinator/steady.h"

namespace headrace::coordinator {
namespace {

constexpr double kLeastPart = 0.1;  // of an equal part
constexpr double kRoom = 1.25;      // over what was read of late
constexpr double kHeld = 0.05;      // part of the time above which a limit counts as holding back
constexpr double kPartWobble = 0.1;

}  // namespace

std::vector<double> DivideSource(double total, std::span<const std::optional<SourceUse>> uses) {
  const std::size_t n = uses.size();
  std::vector<double> parts(n, 0);
  if (n == 0) return parts;
  const double equal = total / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    const bool content = uses[i] && uses[i]->held < kHeld;
    parts[i] = content ? std::max(kLeastPart * equal, uses[i]->rate * kRoom)
                       : std::numeric_limits<double>::infinity();
  }
  std::vector<std::size_t> rising(n);
  std::iota(rising.begin(), rising.end(), std::size_t{0});
  std::stable_sort(rising.begin(), rising.end(),
                   [&](std::size_t a, std::size_t b) { return parts[a] < parts[b]; });
  double left = total;
  for (std::size_t k = 0; k < n; ++k) {
    double& part = parts[rising[k]];
    part = std::min(part, left / static_cast<double>(n - k));
    left -= part;
  }
  for (double& part : parts) part += std::max(0.0, left) / static_cast<double>(n);
  return parts;
}

std::vector<double> SteadyParts(std::vector<double> wanted, std::span<const double> held) {
  const auto close = [](double now, double before, double wobble) {
    return std::abs(now - before) <= wobble * before;
  };
  const double now = std::accumulate(wanted.begin(), wanted.end(), 0.0);
  const double before = std::accumulate(held.begin(), held.end(), 0.0);
  if (!close(now, before, kWobble)) return wanted;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!close(wanted[i], held[i], kPartWobble)) return wanted;
  }
  return {held.begin(), held.end()};
}

}  // namespace headrace::coordinator
