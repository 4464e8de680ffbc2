#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "trainer_client/draws/draw_planner.h"
#include "trainer_client/session/comparisons.h"

namespace headrace::client {

// Remembers what the lanes of a session were asked for since their processes began. It knows which
// batches a stock worker would have made (docs/adr/0029-state-seen.md).
//
// A lane's process on this host is *straight* while it was asked for its batches in order from the
// first one. None may be left out, and only the last may come twice. What a straight process makes
// is right, whatever its code keeps. After a batch that another host made in its place, it is not
// straight any more. Pure. Reactor thread.
class LaneHistory {
 public:
  struct Entry {
    std::int64_t ticket = 0;
    PlannedBatch planned;
    Bytes index;
    bool made = false, right = false;
    std::uint64_t hash = 0;  // of what was made, if that is not known to be right
  };
  struct Lane {
    Bytes begin;  // the state of its generators before the first batch; empty: it begins
    std::vector<Entry> entries;
  };

  // `most_bytes`: most bytes of keys to remember; 0: nothing is.
  explicit LaneHistory(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // Forgets all, because the processes are others.
  void Restart();
  void Began(std::int32_t lane, const Bytes& state) { lanes_[lane].known.begin = state; }
  // Adds the next batch of its lane.
  void Add(std::int64_t ticket, const PlannedBatch& planned, const Bytes& index);
  // Notes that a reference, the lane's process on this host, is asked for the batch.
  void AskedHere(std::int32_t lane, std::int64_t ticket);
  // Notes the batch's first answer. It calls `hash` if the answer is not known to be right.
  template <typename Hash>
  void Made(std::int32_t lane, std::int64_t ticket, bool here, Hash hash) {
    Entry* entry = Find(lane, ticket);
    if (entry == nullptr) return;
    entry->made = true;
    entry->right = here && Straight(lane);
    entry->hash = entry->right ? 0 : hash();
  }

  // Whether the lane's process would go on as a stock worker and has made all batches so far.
  [[nodiscard]] bool Right(std::int32_t lane) const;
  // False: there was more than could be remembered.
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] std::vector<std::int32_t> Wrong() const;
  // Notes that the lane's process begins again. Returns what to ask it for, from the first batch
  // on.
  [[nodiscard]] const Lane& Again(std::int32_t lane);
  [[nodiscard]] const Entry* entry(std::int32_t lane, std::int64_t ticket) const;

 private:
  struct State {
    Lane known;
    std::map<std::int64_t, std::size_t> place;  // ticket -> entry
    std::size_t ran = 0;                        // entries that the process was asked for
    bool bent = false;
  };

  [[nodiscard]] bool Straight(std::int32_t lane) const;
  [[nodiscard]] Entry* Find(std::int32_t lane, std::int64_t ticket);

  std::uint64_t most_bytes_, bytes_ = 0;
  bool complete_ = true;
  std::map<std::int32_t, State> lanes_;
};

// Hashes what SameBytes compares: equal batches have equal hashes.
[[nodiscard]] std::uint64_t HashOf(const wire::BatchDone& done, ByteSpan memory);

}  // namespace headrace::client
