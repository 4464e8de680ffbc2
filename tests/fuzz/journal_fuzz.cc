#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "coordinator/state/journal_codec.h"

// A record of a journal, as a damaged disk or another release leaves it. What is accepted must be the
// same after it is written and read again. Seeds: tests/fuzz/seeds/journal_fuzz.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using headrace::coordinator::DecodeUpdate;
  using headrace::coordinator::EncodeUpdate;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto update = DecodeUpdate(text);
  if (!update.ok()) return 0;
  const auto again = DecodeUpdate(EncodeUpdate(*update));
  if (!again.ok() || EncodeUpdate(*again) != EncodeUpdate(*update)) std::abort();
  return 0;
}
