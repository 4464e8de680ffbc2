#pragma once

#include <string>

namespace headrace::coordinator {

// What an hour costs, in any currency; 0: not known.
struct HourPrices {
  double gpu = 0;
  double core = 0;  // of a pool
  [[nodiscard]] bool known() const { return gpu > 0 && core > 0; }
};

// Whether cores of the pool make a job's work cheaper.
//
// A job that could use N cores and has c goes at c / N of its full speed, so its work takes T N / c hours. Of these c
// let `own` be its own, which cost nothing more. Then the work costs T N / c (gpus * gpu + (c - own) * core). This
// falls with every c up to N if gpus * gpu > own * core, and grows with it otherwise, whatever N and T are. So all
// that it can use is bought, or nothing. Without own cores it is always all: a GPU that waits costs, too.
// True where a price is not known.
[[nodiscard]] bool WorthBuying(const HourPrices& prices, double gpus, double own);

// For people, why nothing is bought: "no worker is started for it: its 1 GPU costs 0.3 an hour, less than its own 16
// cores would, 0.64".
[[nodiscard]] std::string WhyNotBought(const HourPrices& prices, double gpus, double own);

}  // namespace headrace::coordinator
