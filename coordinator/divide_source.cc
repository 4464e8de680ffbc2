#include "coordinator/divide_source.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "coordinator/steady.h"

namespace headrace::coordinator {
namespace {

constexpr double kLeastPart = 0.1;  // of an equal part
constexpr double kRoom = 1.25;      // over the need, at least
constexpr double kWait = 0.05;      // s, of a read on average
constexpr double kHeld = 0.05;      // part of the time above which a limit counts as holding back
constexpr double kPartWobble = 0.1;

}  // namespace

void FitSource(std::span<double> rates, double most,
               const std::function<bool(std::size_t)>& counts) {
  double sum = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (counts(i)) sum += rates[i];
  }
  if (!std::isfinite(most) || sum <= most) return;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (counts(i)) rates[i] *= most / sum;
  }
}

double RateWithRoom(double need, double read_bytes) {
  if (need <= 0) return 0;
  // Of the wait need * read_bytes / (2 * rate * (rate - need)), solved for the rate.
  const double for_chance = need / 2 * (1 + std::sqrt(1 + 2 * read_bytes / (need * kWait)));
  return std::max(kRoom * need, for_chance);
}

std::vector<double> DivideSource(double total, std::span<const std::optional<SourceUse>> uses,
                                 double read_bytes) {
  const std::size_t n = uses.size();
  std::vector<double> parts(n, 0);
  if (n == 0) return parts;
  const double equal = total / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    const bool content = uses[i] && uses[i]->held < kHeld;
    parts[i] = content ? std::max(kLeastPart * equal, RateWithRoom(uses[i]->rate, read_bytes))
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
  const double now = std::accumulate(wanted.begin(), wanted.end(), 0.0);
  const double before = std::accumulate(held.begin(), held.end(), 0.0);
  bool stay = before <= now && before >= now * (1 - kWobble);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    stay = stay && std::abs(wanted[i] - held[i]) <= kPartWobble * held[i];
  }
  if (stay) return {held.begin(), held.end()};
  for (double& part : wanted) part *= 1 - kWobble / 2;
  return wanted;
}

}  // namespace headrace::coordinator
