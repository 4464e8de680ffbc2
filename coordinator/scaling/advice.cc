#include "coordinator/scaling/advice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/estimate/hit_share.h"
#include "coordinator/scaling/use_bound.h"

namespace headrace::coordinator {
namespace {

constexpr double kLittle = 0.02;  // share of time that is not worth a core
constexpr double kRounding = 1e-3;
// A range goes so many times as far as the stretches of time differ from all of it.
constexpr double kBeyondParts = 1.5;
constexpr double kErrors = 2.5;  // standard errors, at least
constexpr double kNear = 0.1;    // of what the network carries: more cores are not worth it

std::string Percent(double share) {
  return std::to_string(std::lround(100 * std::clamp(share, 0.0, 1.0))) + "%";
}

std::string NumberText(double cores) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), cores < 1 ? "%.1f" : "%.0f", cores);
  return text.data();
}

std::string CoresText(const Prediction& prediction) {
  const std::string least = NumberText(prediction.least), most = NumberText(prediction.most);
  const std::string range = prediction.least <= 0 ? "up to " : least != most ? least + " to " : "";
  return range + most + (most == "1" ? " more core" : " more cores");
}

// The meter's terms, with the speed of late.
Terms TermsOfLate(const JobMeter& meter, const PeriodSum& periods) {
  Terms terms = meter.measured();
  terms.ready_rate = periods.ready_rate();
  return terms;
}

double Curable(const TimeShares& times) {
  return std::max(0.0, times.source + times.compute + times.python + times.queue - times.limited);
}

}  // namespace

Prediction PredictCores(const Terms& terms, const TimeShares& times, double hit,
                        double granted_cores, double most_rate) {
  if (times.all() <= 0 || terms.ready_rate <= 0 || Curable(times) < kLittle * times.all()) {
    return {0, times.all() > 0 ? times.wait() / times.all() : 0};
  }
  // Uses the observed speed of the cores, which may be slower than the metered cost says.
  const double rate = terms.ready_rate * times.step / times.all();
  if (rate >= most_rate * (1 - kNear)) return {0, times.wait() / times.all()};
  const double cost = CostPerSample(terms, hit);
  const double seen = granted_cores > 0 && rate > 0 ? std::max(cost, granted_cores / rate) : cost;
  const double need = std::min(terms.ready_rate * (1 - kLittle), most_rate) * seen;
  double more = need - granted_cores;
  if (more <= 0) return {0, times.wait() / times.all()};
  more = more < 1 ? std::ceil(more * 10) / 10 : std::ceil(more);
  // The rest of the waiting stays the same for each sample.
  const double per_step = 1 / terms.ready_rate;
  const double other = (times.wait() - Curable(times)) / std::max(times.step, 1e-9) * per_step;
  const double made = seen / (granted_cores + more);
  const double sample = std::max({per_step, made, 1 / most_rate}) + other;
  return {more, 1 - per_step / sample, more, more};
}

Prediction PredictCoresOfLate(const JobMeter& meter, double granted_cores, double most_rate) {
  const auto predict = [&](const PeriodSum& periods) {
    return PredictCores(TermsOfLate(meter, periods), periods.times, periods.hit(), granted_cores,
                        most_rate);
  };
  Prediction all = predict(meter.recent().Sum());
  if (all.cores <= 0) return all;
  double spread = 0;
  for (const PeriodSum& part : meter.recent().Parts()) {
    spread = std::max(spread, std::abs(predict(part).cores - all.cores));
  }
  // The number that is said is one of cores that are added to those that it has.
  spread = std::max(kBeyondParts * spread,
                    kErrors * meter.recent().Error() * (granted_cores + all.cores));
  const double unit = all.most < 1 ? 0.1 : 1;  // as PredictCores rounds
  all.least = std::max(0.0, std::floor((all.cores - spread) / unit + kRounding) * unit);
  // The controller would not believe more either, whatever the client's clock says.
  const double most =
      std::min(all.cores + spread, std::max(all.cores, UseBound::kAllUsed * granted_cores));
  all.most = std::ceil(most / unit - kRounding) * unit;
  return all;
}

namespace {

// A hit share that grows by less is noise.
constexpr double kFills = 0.05;

// Part of the trainer's time that it would wait if the cache answered the share `then` of the reads, and
// everything else stayed. What is waited for the source falls with the reads, and the rest with what
// samples cost.
double WaitWith(double then, const Terms& terms, const TimeShares& times, double hit,
                double granted_cores) {
  // A cache also cures what a limit of the source holds back.
  const double curable = times.source + times.compute + times.python + times.queue;
  if (times.all() <= 0 || terms.ready_rate <= 0 || then <= hit || curable <= 0) {
    return times.all() > 0 ? times.wait() / times.all() : 0;
  }
  const double cost = CostPerSample(terms, hit);
  const double work = cost > 0 ? CostPerSample(terms, then) / cost : 1;
  const double reads = hit < 1 ? (1 - then) / (1 - hit) : 1;
  const double of_source = std::min(1.0, std::max(times.source, times.limited) / curable);
  const double ratio = of_source * reads + (1 - of_source) * work;
  const double rate = terms.ready_rate * times.step / times.all();
  const double per_step = 1 / terms.ready_rate;
  const double other = (times.wait() - curable) / std::max(times.step, 1e-9) * per_step;
  // What a sample takes now, waiting for all else left out.
  const double made =
      rate > 0 ? 1 / rate - other : (granted_cores > 0 ? cost / granted_cores : per_step);
  const double sample = std::max(per_step, made * ratio) + other;
  return 1 - per_step / sample;
}

double HitWith(double quota, const CacheOffer& offer) {
  std::vector<CacheHost> hosts;
  for (const double served : offer.served) hosts.push_back({served});
  return HitShare(quota, offer.total, hosts);
}

// "760 MB", "3.1 GB".
std::string BytesText(double bytes) {
  std::array<char, 32> text{};
  if (bytes < 999.5e6) {
    std::snprintf(text.data(), text.size(), "%.0f MB", std::max(1.0, bytes / 1e6));
  } else if (bytes < 999.5e9) {
    std::snprintf(text.data(), text.size(), bytes < 9.95e9 ? "%.1f GB" : "%.0f GB", bytes / 1e9);
  } else {
    std::snprintf(text.data(), text.size(), "%.1f TB", bytes / 1e12);
  }
  return text.data();
}

// Something that would cut the waiting.
struct Cure {
  std::string what;
  double wait_share = 0;
  std::string when;
  double price = 0;  // see PriceOf
};

// How many times as fast the trainer is, if it waits the part `then` of its time in place of `now`.
double SpeedUp(double now, double then) { return (1 - then) / std::max(1e-9, 1 - now); }

std::string TimesText(double times) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), times < 9.95 ? "%.1f" : "%.0f", times);
  return std::string(text.data()) + " times as fast";
}

// Cores' worth for each step of speed.
double PriceOf(double cores, double now, double then) {
  return cores / std::max(1e-9, std::log(SpeedUp(now, then)));
}

std::vector<Cure> CuresOf(const JobMeter& meter, double granted_cores, const CacheOffer& offer,
                          const NetworkOffer& network) {
  const PeriodSum periods = meter.recent().Sum();
  const Terms terms = TermsOfLate(meter, periods);
  const TimeShares& times = periods.times;
  const double hit = periods.hit();
  const double now = times.wait() / times.all();
  std::vector<Cure> cures;
  const Prediction cores =
      PredictCoresOfLate(meter, granted_cores, NetworkBound(terms, hit, network));
  if (cores.cores > 0) {
    cures.push_back(
        {CoresText(cores), cores.wait_share, "", PriceOf(cores.cores, now, cores.wait_share)});
  }
  CachePrediction cache = PredictCache(terms, times, hit, granted_cores, offer);
  // What is cached crosses the network all the same.
  const double most_rate = NetworkBound(terms, cache.hit, network);
  cache.wait_share = std::max(cache.wait_share, 1 - std::min(1.0, most_rate / terms.ready_rate));
  if (cache.bytes > 0 && SpeedUp(now, cache.wait_share) >= 1 + kLittle) {
    std::string what = BytesText(cache.bytes) + " more of cache";
    if (!cache.free) {
      what += ", which its workers lack (--cache, --cache-tier),";
    } else {
      what += ", which its workers have";
      if (offer.own_bound) {
        what += " and its own --cache keeps it from";
      } else if (!offer.keeper.empty()) {
        what += " and " + offer.keeper + " keeps it from";
      }
      what += ",";
    }
    const std::string when =
        " (" + TimesText(SpeedUp(now, cache.wait_share)) + ") from the next epoch on";
    const double price =
        cache.free ? 0 : PriceOf(cache.bytes / kBytesPerCore, now, cache.wait_share);
    cures.push_back({what, cache.wait_share, when, price});
  }
  std::stable_sort(cures.begin(), cures.end(),
                   [](const Cure& a, const Cure& b) { return a.price < b.price; });
  return cures;
}

}  // namespace

CachePrediction PredictFull(const Terms& terms, const TimeShares& times, double hit,
                            double granted_cores, const CacheOffer& offer) {
  const double then = std::max(hit, HitWith(offer.granted, offer));
  return {0, false, then, WaitWith(then, terms, times, hit, granted_cores)};
}

CachePrediction PredictCache(const Terms& terms, const TimeShares& times, double hit,
                             double granted_cores, const CacheOffer& offer) {
  const CachePrediction full = PredictFull(terms, times, hit, granted_cores, offer);
  if (times.all() <= 0 || offer.total <= 0) return full;
  const double hosts = std::max<double>(1, static_cast<double>(offer.served.size()));
  const double lacking = hosts * offer.total - offer.granted;
  for (const bool free : {true, false}) {
    const double bytes = free ? std::min(offer.free, lacking) : lacking;
    if (bytes <= 0) continue;
    const double then = HitWith(offer.granted + bytes, offer);
    const double wait = WaitWith(then, terms, times, hit, granted_cores);
    if (SpeedUp(full.wait_share, wait) >= 1 + kLittle) return {bytes, free, then, wait};
  }
  return full;
}

std::string Advice(const JobMeter& meter, double granted_cores, const CacheOffer& offer,
                   const NetworkOffer& network) {
  if (!meter.recent().Tell(granted_cores)) return "";
  const PeriodSum periods = meter.recent().Sum();
  const Terms terms = TermsOfLate(meter, periods);
  const TimeShares& times = periods.times;
  const double hit = periods.hit();
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
  const CachePrediction full = PredictFull(terms, times, hit, granted_cores, offer);
  if (full.hit > hit + kFills) {
    text += "; its cache is filling: it answers " + Percent(hit) + " of the reads, later " +
            Percent(full.hit) + ", which cuts it to " + Percent(full.wait_share);
  }
  const std::vector<Cure> cures = CuresOf(meter, granted_cores, offer, network);
  for (std::size_t i = 0; i < cures.size(); ++i) {
    text += (i == 0 ? "; " : ", or ") + cures[i].what + (i == 0 ? " would cut it to " : " to ") +
            Percent(cures[i].wait_share) + cures[i].when;
  }
  const std::string binds = NetworkText(meter, network);
  if (!cures.empty()) {
    const bool later = NetworkBound(terms, hit, network) < kUnlimited;
    return later ? text + "; then " + binds : text;
  } else if (!binds.empty()) {
    text += "; " + binds;
  } else if (times.limited > kLittle * all) {
    text += "; its limit of the source holds it back";
  } else {
    text += "; more cores would not help";
  }
  return text;
}

}  // namespace headrace::coordinator
