#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace headrace::remote {

// Who pays for what requests receive: of a worker, a job. The client asks it before it receives, and
// tells it what came. Thread-safe: several threads of a client may have the same one.
class Meter {
 public:
  Meter() = default;
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;
  virtual ~Meter() = default;

  // Bytes a second that may be received; 0: no limit. It may change at any time.
  [[nodiscard]] virtual std::uint64_t Rate() = 0;
  // When something may be received: not after `now` if that is now. A caller with a later answer waits
  // for the limit.
  [[nodiscard]] virtual SteadyTime ReadyAt(SteadyTime now) = 0;
  // Takes bytes; below 0: gives them back.
  virtual void Take(std::int64_t bytes, SteadyTime now) = 0;

  // The mean size of its whole objects, bytes. 0: none has come.
  [[nodiscard]] std::uint64_t MeanObject() const { return mean_object_; }
  // Two threads at once may lose one of the sizes.
  void NoteObject(std::uint64_t bytes) {
    const std::uint64_t mean = mean_object_;
    mean_object_ = mean == 0 ? bytes : mean - mean / 8 + bytes / 8;
  }

 private:
  std::atomic<std::uint64_t> mean_object_ = 0;
};

}  // namespace headrace::remote
