#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "eviction/core/order.h"

// DLCache's experiment on eviction (Kang et al., ISORC 2023, exp3 of its public repository): jobs
// that come one after the other read data sets of large objects. Four kinds of data sets: one is read by job
// after job, one is shared by several jobs at a time, one is read through a window that moves on,
// one is read once.
namespace headrace::simulate {

// The objects of the four data sets, read from a table with the columns Cost (seconds with one
// process), ETag, Key (its first folder names the set) and Size (bytes).
struct ObjectSets {
  std::vector<eviction::Item> objects;  // ids are positions; cost_s is that of 8 processes
  // Positions, in the order of reading.
  std::vector<std::size_t> reused, shared, window, once;

  // kInvalidArgument: the text is no such table, or lacks one of the four sets.
  static Result<ObjectSets> Read(std::string_view file, std::string_view text);
};

// One cell of the experiment.
struct EvictionCell {
  std::uint64_t capacity = 0;  // bytes
  int reuse = 1;               // jobs that read the reused set
  int share = 1;               // jobs that read the shared set; each time so many at once
  int window = 1;              // objects that the window keeps of the one before
};
// All cells, in the order of the published rows. Each has kRunsOfCell runs.
[[nodiscard]] std::vector<EvictionCell> EvictionCells();
inline constexpr int kRunsOfCell = 50;

// An object that is asked for `times` times, by as many jobs, one right after the other.
struct Asked {
  std::size_t object = 0;
  int times = 1;
};
using Schedule = std::vector<std::vector<Asked>>;  // by job, in order

// Makes the schedules of all runs, in order. The jobs of a run are shuffled as NumPy's
// RandomState(12345).shuffle does, so they are those of the published rows. One thread.
class ScheduleMaker {
 public:
  explicit ScheduleMaker(const ObjectSets& sets) : sets_(sets) {}
  Schedule Next(const EvictionCell& cell);

 private:
  std::uint32_t UpTo(std::uint32_t most);

  const ObjectSets& sets_;
  std::mt19937 random_{12345};
};

}  // namespace headrace::simulate
