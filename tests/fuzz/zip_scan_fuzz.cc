#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "dataworker/source/ranges/zip_member.h"
#include "trainer_client/shards/zip_scan.h"

// A zip of a stranger: whatever it says, the list ends, samples lie within the zip, and what the worker
// unpacks is no larger than the directory says. The first byte says how many bytes come at a time.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const headrace::ByteSpan zip = std::as_bytes(std::span(data + 1, size - 1));
  headrace::client::ZipScan scan(zip.size(), {{"jpg", "png"}, "", data[0] % 2 == 0});
  while (const auto want = scan.wants()) {
    if (want->first + want->bytes > zip.size()) std::abort();
    const headrace::ByteSpan rest = zip.subspan(want->first);
    if (!scan.Take(rest.first(std::min<std::size_t>(want->bytes + 4 * data[0], rest.size())))
             .ok()) {
      return 0;
    }
  }
  const auto& samples = scan.samples();
  headrace::ScratchBuffer out;
  for (std::size_t i = 0; i < samples.firsts.size(); ++i) {
    if (samples.firsts[i] + samples.sizes[i] > zip.size()) std::abort();
    // As in a plan, which may come from a stranger, too.
    headrace::wire::ZipMember member = samples.members[i];
    if (member.size > (1U << 20)) continue;  // so that it fits into the fuzzer's memory
    const headrace::ByteSpan range = zip.subspan(samples.firsts[i], samples.sizes[i]);
    const auto head = headrace::dataworker::UnpackHead(range, member, 4096, out);
    if (head.ok() && head->size() > std::min<std::size_t>(4096, member.size)) std::abort();
    const auto whole = headrace::dataworker::UnpackMember(range, member, out);
    if (whole.ok() && whole->size() != member.size) std::abort();
    member.packed_size = static_cast<std::uint32_t>(samples.sizes[i] / 2);
    (void)headrace::dataworker::UnpackMember(range, member, out);
  }
  return 0;
}
