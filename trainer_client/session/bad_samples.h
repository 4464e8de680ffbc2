#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schemas/wire/control.h"

namespace headrace::client {

// Remembers, for the life of a client, the samples that are not made like the others: those that no
// worker is given, and those that the program goes on without. Samples are known by data set
// (wire::DataSetOf) and row. Pure. Reactor thread. The client owns it, and its sessions share it.
class BadSamples {
 public:
  using Rows = std::set<std::int64_t>;

  // The most rows that are held back, of all data sets together; more are given to workers as ever.
  static constexpr std::size_t kMostHeldBack = 4096;

  // The rows of a data set that no worker is given. The set grows with what is learned later.
  [[nodiscard]] std::shared_ptr<const Rows> HeldBack(std::uint64_t data_set);

  // Says that workers were lost, twice, with a batch of these rows. Rows of an earlier batch of which
  // the same was said are held back from now on: what ends workers is in both. So is one that was
  // alone in its batch. Returns them.
  // O(rows * batches).
  std::vector<std::int64_t> Lost(std::uint64_t data_set, std::span<const std::int64_t> rows);
  // Counts that the client met this sample. With `held_back` no worker is given it from now on.
  // Returns whether that is news. `times` of the sample does not count.
  bool Found(wire::BadSample sample);
  // Takes what other clients have found.
  void Learn(const std::vector<wire::BadSample>& samples);

  // Grows whenever rows are held back.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  // What is to be told of them; the newest last, at most wire::kMostBadSamples.
  [[nodiscard]] std::vector<wire::BadSample> Told() const;

 private:
  using Key = std::pair<std::uint64_t, std::int64_t>;  // data set, row
  struct LostBatch {
    std::uint64_t data_set;
    Rows rows;
  };

  bool HoldBack(std::uint64_t data_set, std::int64_t row);

  std::map<std::uint64_t, std::shared_ptr<Rows>> held_back_;  // by data set
  std::size_t held_back_count_ = 0;
  std::deque<LostBatch> lost_;  // whose sample is not known yet
  std::map<Key, wire::BadSample> samples_;
  std::deque<Key> order_;  // of samples_, the newest last
  std::uint64_t version_ = 0;
};

}  // namespace headrace::client
