#include "coordinator/scaling/network_advice.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace headrace::coordinator {
namespace {

// Part of its speed that is not worth a word.
constexpr double kSlight = 0.02;

// "602 kB", "125 MB", "1.2 GB".
std::string AmountText(double bytes) {
  std::array<char, 32> text{};
  if (bytes < 999.5e3) {
    std::snprintf(text.data(), text.size(), "%.0f kB", bytes / 1e3);
  } else if (bytes < 999.5e6) {
    std::snprintf(text.data(), text.size(), bytes < 9.95e6 ? "%.1f MB" : "%.0f MB", bytes / 1e6);
  } else {
    std::snprintf(text.data(), text.size(), bytes < 9.95e9 ? "%.1f GB" : "%.0f GB", bytes / 1e9);
  }
  return text.data();
}

std::string CountText(double count) { return std::to_string(std::llround(count)); }

}  // namespace

double NetworkBound(const Terms& terms, double hit, const NetworkOffer& offer) {
  const double most = NetworkThroughput(terms, hit, offer.share);
  return most < terms.ready_rate * (1 - kSlight) ? most : kUnlimited;
}

std::string NetworkText(const JobMeter& meter, const NetworkOffer& offer) {
  const PeriodSum periods = meter.recent().Sum();
  const TimeShares& times = periods.times;
  Terms terms = meter.measured();
  terms.ready_rate = periods.ready_rate();
  const double most = NetworkBound(terms, periods.hit(), offer);
  if (most < kUnlimited) {
    const std::string with = offer.share.own_cores > 0 ? " with its own host's cores" : "";
    return "the network binds: " +
           std::string(offer.own_link ? "the link of its host leaves"
                                      : "the links of its workers leave") +
           " it " + AmountText(offer.share.rate) + "/s, at " + AmountText(terms.sent_bytes) +
           " a sample" + with + " " + CountText(most) + " of the " + CountText(terms.ready_rate) +
           " samples/s that it could take";
  }
  if (!meter.sent().crossed() || times.network < times.wait() / 2) return "";
  return "the network holds it back: " +
         AmountText(periods.samples / times.all() * terms.sent_bytes) + "/s are sent, " +
         AmountText(terms.sent_bytes) + " a sample";
}

}  // namespace headrace::coordinator
