#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "dataworker/cache/cache_tier.h"
#include "dataworker/cache/disk/segment_folder.h"
#include "eviction/core/order.h"

namespace headrace::dataworker {

struct DiskCacheOptions {
  std::uint64_t budget = 0;  // bytes of files, and of the index in memory
  std::uint64_t most_buffered = std::uint64_t{64} << 20;  // bytes that wait to be written
  int readers = 8;                                        // threads
  Duration patience = std::chrono::seconds(5);            // a read that takes longer is a miss
  Duration rest = std::chrono::seconds(10);  // after an error of the disk, without new entries
};

// The disk tier: entries in files of `folder`, whose index is in memory.
//
//   store   to a bounded buffer, from which one thread writes. An entry is found from then on
//   find    at once what is in the buffer, or in the kernel's memory. The rest is read by threads of the
//           tier. Its hash is checked
//   errors  an entry that can't be written or read is forgotten, and no new one is taken for `rest`
//   start   what an earlier process has left is found again. What it had not written is lost; a record
//           that is not whole is never found, or fails its check
//
// Nothing is synchronised to the device: after a power cut the checks find what is missing. `order`: as
// MakeMemoryCache's.
[[nodiscard]] std::unique_ptr<CacheTier> MakeDiskCache(
    const DiskCacheOptions& options, std::unique_ptr<SegmentFolder> folder,
    std::unique_ptr<eviction::EvictionOrder> order = nullptr);

}  // namespace headrace::dataworker
