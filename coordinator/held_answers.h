#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "schemas/wire/message.h"

namespace headrace::coordinator {

struct Outgoing {
  std::string peer;
  wire::Body body;
};

// Messages that wait until the updates that they speak of are on disk. Coordinator's reactor thread.
class HeldAnswers {
 public:
  // While the journal's disk hangs, messages of this cost may wait. A status has the size of hundreds of
  // other messages.
  static constexpr std::size_t kMostCost = 20'000;
  static constexpr std::size_t kStatusCost = 500;

  [[nodiscard]] bool empty() const { return groups_.empty(); }
  [[nodiscard]] bool full() const { return cost_ >= kMostCost; }
  // Holds messages of new updates. Returns the number of the updates.
  std::uint64_t HoldForNew(std::vector<Outgoing> messages);
  // Holds messages that may speak of the last updates. REQUIRES: !empty().
  void HoldForLast(std::vector<Outgoing> messages);
  // The updates up to this number are on disk. Returns the messages that may go, in order.
  [[nodiscard]] std::vector<Outgoing> Release(std::uint64_t number);

 private:
  struct Group {
    std::uint64_t number = 0;
    std::vector<Outgoing> messages;
  };
  [[nodiscard]] static std::size_t CostOf(const std::vector<Outgoing>& messages);

  std::uint64_t last_ = 0;
  std::deque<Group> groups_;
  std::size_t cost_ = 0;
};

}  // namespace headrace::coordinator
