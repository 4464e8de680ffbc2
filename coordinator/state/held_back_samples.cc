#include "coordinator/state/held_back_samples.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "schemas/wire/bad_samples.h"

namespace headrace::coordinator {

const HeldBackSamples::Rows* HeldBackSamples::Largest() const {
  const auto largest = std::ranges::max_element(
      data_sets_, {}, [](const auto& entry) { return entry.second.size(); });
  return largest == data_sets_.end() ? nullptr : &largest->second;
}

bool HeldBackSamples::Takes(const wire::BadSample& sample) const {
  const auto found = data_sets_.find(sample.data_set);
  const std::size_t of_set = found == data_sets_.end() ? 0 : found->second.size();
  if (of_set > 0 && found->second.contains(sample.row)) return false;
  if (of_set >= wire::kMostBadSamples) return false;
  return size_ < kMost || of_set < Largest()->size();
}

void HeldBackSamples::Add(const wire::BadSample& sample) {
  if (!Takes(sample)) return;
  if (size_ >= kMost) {
    const auto largest = std::ranges::max_element(
        data_sets_, {}, [](const auto& entry) { return entry.second.size(); });
    Rows& rows = largest->second;
    rows.erase(
        std::ranges::min_element(rows, {}, [](const auto& entry) { return entry.second.first; }));
    if (rows.empty()) data_sets_.erase(largest);
    --size_;
  }
  data_sets_[sample.data_set].emplace(sample.row, std::pair(next_++, sample));
  ++size_;
}

std::vector<wire::BadSample> HeldBackSamples::Of(
    const std::vector<std::uint64_t>& data_sets) const {
  std::vector<wire::BadSample> samples;
  for (const std::uint64_t data_set : std::set(data_sets.begin(), data_sets.end())) {
    const auto found = data_sets_.find(data_set);
    if (found == data_sets_.end()) continue;
    for (const auto& [row, entry] : found->second) samples.push_back(entry.second);
  }
  return wire::Bounded(std::move(samples));
}

std::vector<wire::BadSample> HeldBackSamples::All() const {
  std::vector<std::pair<std::uint64_t, const wire::BadSample*>> ages;
  for (const auto& [data_set, rows] : data_sets_) {
    for (const auto& [row, entry] : rows) ages.emplace_back(entry.first, &entry.second);
  }
  std::ranges::sort(ages, {}, [](const auto& each) { return each.first; });
  std::vector<wire::BadSample> samples;
  for (const auto& [age, sample] : ages) samples.push_back(*sample);
  return samples;
}

}  // namespace headrace::coordinator
