#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "dataworker/cache/cache_entry.h"

namespace headrace::dataworker {

// Knows which entries other workers own now. Thread-safe.
class EntryOwners {
 public:
  virtual ~EntryOwners() = default;
  // Is another one after each change of owners.
  [[nodiscard]] virtual std::uint64_t version() const = 0;
  // Whether the job looks for the entry at another worker first, and no longer here. `bytes`: it takes.
  [[nodiscard]] virtual bool IsElsewhere(JobId job, const EntryId& id, std::size_t bytes) const = 0;
};

}  // namespace headrace::dataworker
