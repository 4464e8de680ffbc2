#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "dataworker/cache/cache_entry.h"

namespace headrace::dataworker {

// A marked entry, and where its record lies (disk/record.h).
struct MarkedEntry {
  CacheKey key;
  EntryMark mark{};
  std::uint64_t file = 0;
  std::uint64_t offset = 0;  // of the record
  std::uint64_t bytes = 0;   // of the payload
  Duration cost{};           // to make, in the mean of its file; 0: not known
};

// What reading takes: an estimate for so many bytes is `fixed` and `nanos_a_byte` times the bytes.
struct ReadCost {
  Duration fixed{};
  double nanos_a_byte = 0;
  [[nodiscard]] Duration Of(std::uint64_t bytes) const {
    return fixed + Duration(static_cast<Duration::rep>(nanos_a_byte * static_cast<double>(bytes)));
  }
};

// The marked entries of a tier that keeps them in files, for processes of this user that read them by
// themselves. Whoever reads a record checks it: a damaged disk gives other bytes. Thread-safe.
class MarkedFiles {
 public:
  virtual ~MarkedFiles() = default;
  // Grows whenever List would say something else.
  [[nodiscard]] virtual std::uint64_t version() const = 0;
  // Those that are written, `most` of them at most, in no order.
  [[nodiscard]] virtual std::vector<MarkedEntry> List(std::size_t most) const = 0;
  // Whether it has this entry, of exactly this content, or is about to.
  [[nodiscard]] virtual bool Has(const CacheKey& key) const = 0;
  struct File {
    UniqueFd descriptor;  // that can only be read
    std::uint64_t bytes = 0;
  };
  // Opens a file of List. `user`: the job that counts as its user; nothing: it stays who it was. The file's room is free again when the last
  // descriptor is closed. kNotFound: it was given up. Other errors: the system's.
  [[nodiscard]] virtual Result<File> Open(std::optional<JobId> user, std::uint64_t file) = 0;
  // Notes that a process has waited so long for so many bytes, which were not in the kernel's memory.
  virtual void NoteRead(std::uint64_t bytes, Duration waited) = 0;
  // What reading from the medium takes, by what was noted.
  [[nodiscard]] virtual ReadCost Cost() const = 0;
};

}  // namespace headrace::dataworker
