#include "coordinator/scaling/advice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace::coordinator {
namespace {

constexpr double kLittle = 0.02;  // share of time that is not worth a core

std::string Percent(double share) {
  return std::to_string(std::lround(100 * std::clamp(share, 0.0, 1.0))) + "%";
}

std::string CoresText(double cores) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), cores < 1 ? "%.1f" : "%.0f", cores);
  return std::string(text.data()) + (cores == 1 ? " more core" : " more cores");
}

double Curable(const TimeShares& times) {
  return std::max(0.0, times.source + times.compute + times.python + times.queue - times.limited);
}

}  // namespace

Prediction PredictCores(const Terms& terms, const TimeShares& times, double hit,
                        double granted_cores) {
  if (times.all() <= 0 || terms.ready_rate <= 0 || Curable(times) < kLittle * times.all()) {
    return {0, times.all() > 0 ? times.wait() / times.all() : 0};
  }
  // Uses the observed speed of the cores, which may be slower than the metered cost says.
  const double rate = terms.ready_rate * times.step / times.all();
  const double cost = CostPerSample(terms, hit);
  const double seen = granted_cores > 0 && rate > 0 ? std::max(cost, granted_cores / rate) : cost;
  const double need = terms.ready_rate * (1 - kLittle) * seen;
  double more = need - granted_cores;
  if (more <= 0) return {0, times.wait() / times.all()};
  more = more < 1 ? std::ceil(more * 10) / 10 : std::ceil(more);
  // The rest of the waiting stays the same for each sample.
  const double per_step = 1 / terms.ready_rate;
  const double other = (times.wait() - Curable(times)) / std::max(times.step, 1e-9) * per_step;
  const double made = seen / (granted_cores + more);
  const double sample = std::max(per_step, made) + other;
  return {more, 1 - per_step / sample};
}

std::string Advice(const JobMeter& meter, double granted_cores) {
  const TimeShares& times = meter.times();
  if (times.all() <= 0) return "";
  const double all = times.all();
  if (times.wait() < kLittle * all) {
    return "waits " + Percent(times.wait() / all) + ": the trainer is the bottleneck";
  }
  std::vector<std::pair<double, std::string_view>> causes = {
      {times.compute, "decode"},  {times.python, "Python stage"}, {times.source, "source"},
      {times.queue, "queue"},     {times.network, "network"},     {times.copy, "copy"},
      {times.sampler, "sampler"},
  };
  std::stable_sort(causes.begin(), causes.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = "waits " + Percent(times.wait() / all) + ":";
  for (std::size_t i = 0; i < causes.size(); ++i) {
    const auto& [seconds, name] = causes[i];
    if (i > 0 && seconds < 0.01 * all) break;
    text += (i > 0 ? ", " : " ") + Percent(seconds / all) + " " + std::string(name);
  }
  const Prediction prediction = PredictCores(meter.measured(), times, meter.hit(), granted_cores);
  if (prediction.cores > 0) {
    text +=
        "; " + CoresText(prediction.cores) + " would cut it to " + Percent(prediction.wait_share);
  } else if (times.limited > kLittle * all) {
    text += "; its limit of the source holds it back";
  } else {
    text += "; more cores would not help";
  }
  return text;
}

}  // namespace headrace::coordinator
