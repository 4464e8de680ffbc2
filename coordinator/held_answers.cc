#include "coordinator/held_answers.h"

#include <iterator>
#include <utility>
#include <variant>

namespace headrace::coordinator {

std::size_t HeldAnswers::CostOf(const std::vector<Outgoing>& messages) {
  std::size_t cost = messages.size();
  for (const Outgoing& each : messages) {
    if (std::holds_alternative<wire::ClusterStatus>(each.body)) cost += kStatusCost;
  }
  return cost;
}

std::uint64_t HeldAnswers::HoldForNew(std::vector<Outgoing> messages) {
  cost_ += CostOf(messages);
  groups_.push_back({++last_, std::move(messages)});
  return last_;
}

void HeldAnswers::HoldForLast(std::vector<Outgoing> messages) {
  cost_ += CostOf(messages);
  std::vector<Outgoing>& last = groups_.back().messages;
  std::move(messages.begin(), messages.end(), std::back_inserter(last));
}

std::vector<Outgoing> HeldAnswers::Release(std::uint64_t number) {
  std::vector<Outgoing> messages;
  while (!groups_.empty() && groups_.front().number <= number) {
    std::vector<Outgoing>& first = groups_.front().messages;
    cost_ -= CostOf(first);
    std::move(first.begin(), first.end(), std::back_inserter(messages));
    groups_.pop_front();
  }
  return messages;
}

}  // namespace headrace::coordinator
