#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "simulate/what_if/live_state.h"

// A state of a cluster, as `headrace advise --from-state` and `simulate --from-state` read it from anybody's
// file. What is read can be written, and reads back as the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace sim = headrace::simulate;
  const auto state = sim::ReadLiveState("state", {reinterpret_cast<const char*>(data), size});
  if (!state.ok()) return 0;
  const std::string written = sim::LiveStateJson(*state);
  const auto again = sim::ReadLiveState("written", written);
  if (!again.ok() || sim::LiveStateJson(*again) != written) std::abort();
  return 0;
}
