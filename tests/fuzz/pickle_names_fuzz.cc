#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "trainer_client/session/pickle_names.h"

// The pickle of an answer, after a byte that says how many buffers lie out of band. A name that it uses
// stands in it. tests/fuzz/pickles.py compares the uses with what Python's unpickler does. Seeds:
// tests/fuzz/pickles.py.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto uses = headrace::client::NamesInPickle(std::as_bytes(std::span(text)), data[0] % 4);
  if (!uses.ok()) return 0;
  for (const auto& use : *uses) {
    const auto stands = [&](const std::string& name) {
      return text.find(name) != std::string_view::npos;
    };
    if (!stands(use.module) || !stands(use.name)) std::abort();
  }
  return 0;
}
