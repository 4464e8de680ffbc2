#include <memory>
#include <utility>

#include "base/log.h"
#include "dataworker/cache/cache_registry.h"
#include "dataworker/cache/disk/disk_cache.h"
#include "dataworker/cache/eviction_setting.h"

namespace headrace::dataworker {

void RegisterCacheDisk(CacheRegistry& registry) {
  registry.Add(
      {.name = "disk",
       .summary = "files on a local disk",
       .settings = {{.name = "directory",
                     .kind = Setting::Kind::kText,
                     .value = "",
                     .help =
                         "where; found again by the next worker. Empty: in $TMPDIR or /var/tmp, "
                         "gone with the worker"},
                    {.name = "buffer",
                     .kind = Setting::Kind::kBytes,
                     .value = "64M",
                     .help = "most bytes in memory that wait to be written"},
                    {.name = "readers",
                     .kind = Setting::Kind::kCount,
                     .value = "8",
                     .help = "most reads at the same time"},
                    EvictionSetting()},
       .make = [](std::uint64_t budget,
                  const Settings& settings) -> Result<std::unique_ptr<CacheTier>> {
         const std::int64_t readers = settings.Count("readers");
         if (readers < 1 || readers > 256) return InvalidArgument("readers: 1 to 256");
         HR_TRY(auto order, OrderOf(settings, budget));
         HR_TRY(auto folder, SegmentFolder::Open(settings.Text("directory"), MakerOfPayloads()));
         if (!folder->can_read_now()) {
           LogInfo(
               "the disk cache takes no leaves of stages: its file system can't tell what the "
               "kernel has in memory, as ext4, XFS and Btrfs can");
         }
         return MakeDiskCache({.budget = budget,
                               .most_buffered = settings.Bytes("buffer"),
                               .readers = static_cast<int>(readers)},
                              std::move(folder), std::move(order));
       }});
}

}  // namespace headrace::dataworker
