#include "trainer_client/session/bad_samples.h"

#include <algorithm>
#include <iterator>

#include "schemas/wire/bad_samples.h"

namespace headrace::client {
namespace {

constexpr std::size_t kMostLost = 64;  // batches

}  // namespace

std::shared_ptr<const BadSamples::Rows> BadSamples::HeldBack(std::uint64_t data_set) {
  std::shared_ptr<Rows>& rows = held_back_[data_set];
  if (!rows) rows = std::make_shared<Rows>();
  return rows;
}

bool BadSamples::HoldBack(std::uint64_t data_set, std::int64_t row) {
  (void)HeldBack(data_set);
  if (held_back_count_ >= kMostHeldBack) return false;
  if (!held_back_.at(data_set)->insert(row).second) return false;
  ++held_back_count_;
  ++version_;
  std::erase_if(lost_, [&](const LostBatch& batch) {
    return batch.data_set == data_set && batch.rows.contains(row);  // it is known why
  });
  return true;
}

std::vector<std::int64_t> BadSamples::Lost(std::uint64_t data_set,
                                           std::span<const std::int64_t> rows) {
  LostBatch now{data_set, {rows.begin(), rows.end()}};
  Rows again;
  if (now.rows.size() == 1) again = now.rows;  // it was alone
  for (const LostBatch& before : lost_) {
    if (before.data_set != data_set) continue;
    std::ranges::set_intersection(before.rows, now.rows, std::inserter(again, again.end()));
  }
  std::vector<std::int64_t> held_back;
  for (const std::int64_t row : again) {
    if (HoldBack(data_set, row)) held_back.push_back(row);
  }
  if (!again.empty()) return held_back;
  lost_.push_back(std::move(now));
  if (lost_.size() > kMostLost) lost_.pop_front();
  return held_back;
}

bool BadSamples::Found(wire::BadSample sample) {
  const bool news = sample.held_back && HoldBack(sample.data_set, sample.row);
  const Key key{sample.data_set, sample.row};
  wire::BadSample& known = samples_[key];
  sample.times = known.times + 1;
  sample.held_back = sample.held_back || known.held_back;
  known = std::move(sample);
  std::erase(order_, key);
  order_.push_back(key);
  if (order_.size() > wire::kMostBadSamples) {
    samples_.erase(order_.front());
    order_.pop_front();
  }
  return news;
}

void BadSamples::Learn(const std::vector<wire::BadSample>& samples) {
  for (const wire::BadSample& sample : samples) {
    if (!sample.held_back || sample.data_set == 0) continue;
    if (!HoldBack(sample.data_set, sample.row)) continue;
    wire::BadSample learned = sample;
    learned.times = 0;
    if (samples_.emplace(Key{sample.data_set, sample.row}, std::move(learned)).second) {
      order_.emplace_front(sample.data_set, sample.row);
    }
  }
  while (order_.size() > wire::kMostBadSamples) {
    samples_.erase(order_.front());
    order_.pop_front();
  }
}

std::vector<wire::BadSample> BadSamples::Told() const {
  std::vector<wire::BadSample> told;
  told.reserve(order_.size());
  for (const Key& key : order_) told.push_back(samples_.at(key));
  return wire::Bounded(std::move(told));
}

}  // namespace headrace::client
