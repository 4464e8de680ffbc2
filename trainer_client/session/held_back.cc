#include "trainer_client/session/held_back.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "schemas/wire/bad_samples.h"

namespace headrace::client {
namespace {

constexpr const char* kHeld = "no worker is given it any more, and the program makes it";

}  // namespace

void HeldBack::Start(std::shared_ptr<BadSamples> bad) {
  bad_ = std::move(bad);
  data_set_ = wire::DataSetOf(parts_.plan);
  rows_ = bad_->HeldBack(data_set_);
  seen_ = bad_->version();
  if (data_set_ != 0) parts_.planner.HoldBack(rows_);
}

void HeldBack::Go() {
  LeaveLost();
  if (data_set_ == 0 || std::exchange(seen_, bad_->version()) == bad_->version()) return;
  for (const std::int64_t ticket : parts_.book.Pending()) {
    if (!NamesHeldBack(*parts_.book.Find(ticket))) continue;
    parts_.dispatcher.Remove(ticket);
    parts_.answers.LeaveToTrainer(ticket, Unavailable("one of its samples ends workers"));
  }
}

bool HeldBack::NamesHeldBack(const PlannedBatch& planned) const {
  for (std::size_t i = 0; i < planned.keys.size(); ++i) {
    if (!rows_->contains(parts_.planner.Row(planned.keys[i]))) continue;
    const auto position = static_cast<std::int32_t>(i);
    if (std::ranges::find(planned.skip, position) == planned.skip.end()) return true;
  }
  return false;
}

void HeldBack::LeaveLost() {
  // Slow is not deadly: the trainer makes the batch, and its samples stay as good as others.
  for (const std::int64_t ticket : parts_.dispatcher.TakeOverdue()) {
    parts_.answers.Fail(ticket, Unavailable("workers took longer than the deadline for it"));
  }
  for (const std::int64_t ticket : parts_.dispatcher.TakeLost()) {
    const PlannedBatch* planned = parts_.book.Find(ticket);
    if (planned != nullptr && data_set_ != 0) {
      std::vector<std::int64_t> rows;
      for (const std::int64_t key : planned->keys) rows.push_back(parts_.planner.Row(key));
      std::erase_if(rows, [](std::int64_t row) { return row < 0; });
      for (const std::int64_t row : bad_->Lost(data_set_, rows)) {
        const std::string cause = rows.size() == 1 ? "two workers were lost with it alone"
                                                   : "workers were lost with two batches of it";
        (void)bad_->Found({.data_set = data_set_,
                           .row = row,
                           .name = NameOf(row),
                           .cause = cause,
                           .held_back = true});
        LogWarning(NameOf(row) + ": " + cause + "; " + kHeld);
      }
    }
    parts_.answers.Fail(ticket, Unavailable("several workers were lost while they had it")
                                    .WithDetail(Detail::kEndsWorkers));
  }
}

void HeldBack::Report(const BadSampleReport& report) {
  if (!bad_) return;
  const std::int64_t row = data_set_ != 0 ? parts_.planner.Row(report.key) : report.key;
  wire::BadSample sample{.data_set = data_set_,
                         .row = row,
                         .name = report.name.empty() ? NameOf(row) : report.name,
                         .cause = report.cause,
                         .held_back = report.hold_back && data_set_ != 0 && row >= 0};
  const std::string name = sample.name;
  if (bad_->Found(std::move(sample))) {
    LogWarning(name + ": two workers were lost with its batch, and " + report.cause + "; " + kHeld);
  }
  if (report.left_out) {
    parts_.mailbox.ChangeStats([](SessionStats& stats) { ++stats.bad_samples; });
  }
}

std::string HeldBack::NameOf(std::int64_t row) const {
  const std::vector<std::string> paths = parts_.paths(row);
  return paths.empty() ? "sample " + std::to_string(row) : paths.front();
}

}  // namespace headrace::client
