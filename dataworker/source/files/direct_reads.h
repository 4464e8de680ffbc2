#pragma once

#include <atomic>

namespace headrace::dataworker {

// Decides whether files are read where they are needed, on compute threads, or on io threads. A
// file in the page cache costs least where it is needed. A file that is not there would hold a
// compute thread.
//
// Where the kernel tells (RWF_NOWAIT, RESOLVE_CACHED), a read on a compute thread never waits.
// What the decision saves then is the attempt in vain. Elsewhere (tmpfs, network file systems,
// older kernels) it rests on whether reads waited: a read that waited moves them to the io threads
// at once. Thread-safe; it counts roughly, and nothing but speed depends on it.
class DirectReads {
 public:
  // After so many attempts in vain in a row, files are read on io threads.
  static constexpr int kMostInVain = 4;
  // After so many reads in a row that found all in memory, they are read directly again.
  static constexpr int kInMemory = 16;

  [[nodiscard]] bool direct() const { return direct_.load(std::memory_order_relaxed); }
  // The kernel does not tell for these files, so that reads must be measured.
  [[nodiscard]] bool measured() const { return measured_.load(std::memory_order_relaxed); }
  void Measure() {
    if (!measured_.exchange(true)) SetDirect(false);
  }

  // Counts a direct read, or an attempt of one.
  void CountDirect(bool in_memory) {
    if (in_memory) {
      if (in_vain_.load(std::memory_order_relaxed) != 0) in_vain_ = 0;
    } else if (measured() || ++in_vain_ >= kMostInVain) {
      SetDirect(false);
    }
  }
  // Counts a read of an io thread.
  void CountElsewhere(bool in_memory) {
    if (!in_memory) {
      in_memory_ = 0;
    } else if (++in_memory_ >= kInMemory) {
      SetDirect(true);
    }
  }

 private:
  void SetDirect(bool direct) {
    in_vain_ = 0;
    in_memory_ = 0;
    direct_ = direct;
  }

  std::atomic<bool> direct_ = true;
  std::atomic<bool> measured_ = false;
  std::atomic<int> in_vain_ = 0;    // direct attempts in a row
  std::atomic<int> in_memory_ = 0;  // reads of io threads in a row
};

}  // namespace headrace::dataworker
