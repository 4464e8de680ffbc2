#include "trainer_client/session/wire_choice.h"

#include <algorithm>

namespace headrace::client {
namespace {

// The share of one batch in a mean.
constexpr double kShare = 1.0 / 16;

double NsOfByte(std::uint64_t bytes, Duration spent) {
  return static_cast<double>(std::max<Duration::rep>(spent.count(), 1)) /
         static_cast<double>(bytes);
}

}  // namespace

bool Uint8Pays(const WireCosts& costs) {
  return std::max(costs.link, costs.receive + costs.finish) <
         std::max(costs.link, costs.receive) * costs.ratio;
}

std::int32_t WireChoice::TailFor(WorkerId worker, bool same_host) const {
  if (!finisher_ || form_ == WireForm::kAsMade) return 0;
  if (form_ == WireForm::kAuto) {
    const auto known = link_ns_.find(worker);
    const double assumed = same_host ? kSameHostNs : kOtherHostNs;
    if (!Uint8Pays({.link = known == link_ns_.end() ? assumed : known->second,
                    .receive = kReceiveNs,
                    .finish = finish_ns_,
                    .ratio = static_cast<double>(DTypeBytes(finisher_->dtype()))})) {
      return 0;
    }
  }
  return finisher_->tail();
}

void WireChoice::Came(WorkerId worker, std::uint64_t bytes, Duration network) {
  if (bytes < kLeastBytes) return;
  const double ns = NsOfByte(bytes, network);
  const auto [at, first] = link_ns_.emplace(worker, ns);
  if (!first) at->second = ns < at->second ? ns : at->second + (ns - at->second) * kShare;
}

void WireChoice::Finished(std::uint64_t bytes, Duration spent) {
  if (bytes < kLeastBytes) return;
  finish_ns_ += (NsOfByte(bytes, spent) - finish_ns_) * kShare;
}

}  // namespace headrace::client
