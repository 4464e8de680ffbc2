#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/buffer.h"

namespace headrace::client {

// Copies batches to other memory of this process, with a few threads of its own beside the caller's.
//
// One core alone copies slower than a GPU trains, and a team of all cores takes them from the workers:
// torch's own copy has a thread a core, and each waits for the others at full speed. Here a part is
// taken by whoever has time, so a helper that gets no core delays nothing. Stores pass by the caches:
// the next reader is a device.
// The threads begin with the first large copy. One caller at a time. In a forked child, where they
// are not, the caller copies alone and the destructor does nothing.
class CopyTeam {
 public:
  // Copies of fewer bytes are the caller's alone.
  static constexpr std::size_t kLeastShared = std::size_t{4} << 20;
  // So that three quarters of the cores go on making batches.
  [[nodiscard]] static int HelpersFor(int cpus);

  explicit CopyTeam(int helpers);
  ~CopyTeam();
  CopyTeam(const CopyTeam&) = delete;
  CopyTeam& operator=(const CopyTeam&) = delete;

  // `to` has at least the size of `from`; they do not overlap.
  void Copy(MutableByteSpan to, ByteSpan from);

 private:
  class Work;
  class Helpers;

  int count_;
  std::int64_t pid_ = 0;              // that made the threads
  std::unique_ptr<Helpers> helpers_;  // none before the first large copy
};

}  // namespace headrace::client
