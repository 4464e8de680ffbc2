#include "coordinator/scaling/prices.h"

#include <array>
#include <cstdio>

namespace headrace::coordinator {

bool WorthBuying(const HourPrices& prices, double gpus, double own) {
  return !prices.known() || gpus * prices.gpu > own * prices.core;
}

std::string WhyNotBought(const HourPrices& prices, double gpus, double own) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(),
                "no worker is started for it: its %g %s %.3g an hour, less than its own %g cores "
                "would, %.3g",
                gpus, gpus == 1 ? "GPU costs" : "GPUs cost", gpus * prices.gpu, own,
                own * prices.core);
  return text.data();
}

}  // namespace headrace::coordinator
