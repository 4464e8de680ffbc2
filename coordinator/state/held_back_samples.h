#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "schemas/wire/control.h"

namespace headrace::coordinator {

// The samples that no worker is given, of all jobs. A job names what it likes, so both numbers are
// bounded: of one data set there are as many as a message names. When there are kMost of all, the data
// set that has most gives up its oldest one for a data set that has fewer. Thread-compatible; a value.
class HeldBackSamples {
 public:
  static constexpr std::size_t kMost = 4096;

  // Adds it if Takes says so.
  void Add(const wire::BadSample& sample);
  // Whether it is not here yet, and has a place. O(data sets).
  [[nodiscard]] bool Takes(const wire::BadSample& sample) const;
  // Those of these data sets, at most wire::kMostBadSamples.
  [[nodiscard]] std::vector<wire::BadSample> Of(const std::vector<std::uint64_t>& data_sets) const;
  // All, the oldest first: added in this order, they make an equal value.
  [[nodiscard]] std::vector<wire::BadSample> All() const;

 private:
  using Rows = std::map<std::int64_t, std::pair<std::uint64_t, wire::BadSample>>;  // with their age
  [[nodiscard]] const Rows* Largest() const;

  std::map<std::uint64_t, Rows> data_sets_;
  std::size_t size_ = 0;
  std::uint64_t next_ = 0;  // age of the next one; greater is younger
};

}  // namespace headrace::coordinator
