#include <cstdint>
#include <cstdlib>

#include "schemas/wire/message.h"

// A plan from a file or a peer. Equal plans have equal bytes, also after a detour. (Plans are
// compared by their bytes: a plan that holds a NaN is not equal to itself.)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace wire = headrace::wire;
  const auto plan = wire::DecodePlan(std::as_bytes(std::span(data, size)));
  if (!plan.ok()) return 0;
  const headrace::Bytes bytes = wire::EncodePlan(*plan);
  const auto again = wire::DecodePlan(bytes);
  if (!again.ok() || wire::EncodePlan(*again) != bytes) std::abort();
  return 0;
}
