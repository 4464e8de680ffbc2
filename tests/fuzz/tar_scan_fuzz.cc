#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "trainer_client/shards/tar_scan.h"

// A tar of a stranger: whatever it says, the scan ends, and samples lie within the tar. The first byte
// says how many bytes come at a time.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const headrace::ByteSpan tar = std::as_bytes(std::span(data + 1, size - 1));
  headrace::client::TarScan scan(tar.size(), {{"jpg", "png"}, {"cls", "json"}, "cls"});
  std::uint64_t last = 0;
  while (const auto want = scan.wants()) {
    if (want->first < last || want->first + want->bytes > tar.size()) std::abort();
    last = want->first;
    const headrace::ByteSpan rest = tar.subspan(want->first);
    if (!scan.Take(rest.first(std::min<std::size_t>(want->bytes + 16 * data[0], rest.size()))).ok())
      return 0;
  }
  const auto& samples = scan.samples();
  for (std::size_t i = 0; i < samples.firsts.size(); ++i) {
    if (samples.firsts[i] + samples.sizes[i] > tar.size()) std::abort();
  }
  return 0;
}
