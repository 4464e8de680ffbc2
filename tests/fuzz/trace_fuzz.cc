#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "simulate/trace/trace.h"

// A trace and the file beside it, in one input: a byte 0xff stands between. What is read has
// numbers that can be simulated, and comes back from what WriteTrace makes of it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace sim = headrace::simulate;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = all.find('\xff');
  sim::Input input;
  input.file = "trace";
  input.text = all.substr(0, cut);
  input.companion = [&](std::string_view) -> headrace::Result<std::string> {
    if (cut == std::string_view::npos) return headrace::NotFound("no second file");
    return std::string(all.substr(cut + 1));
  };
  const auto trace = sim::ReadTrace(input, {});
  if (!trace.ok()) return 0;
  for (const sim::Job& job : trace->jobs) {
    const auto terms = job.terms();
    if (!(job.step_s > 0) || !(job.iterations > 0) || !std::isfinite(job.samples()) ||
        !std::isfinite(terms.ready_rate) || !(terms.miss_cost >= 0) ||
        !std::isfinite(terms.miss_cost) || !(terms.hit_cost <= terms.miss_cost)) {
      std::abort();
    }
  }
  return 0;
}
