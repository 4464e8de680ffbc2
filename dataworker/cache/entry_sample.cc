#include "dataworker/cache/entry_sample.h"

#include <algorithm>
#include <utility>

namespace headrace::dataworker {

void EntrySample::Add(const EntrySample& others) {
  if (others.below == 0) return;
  below = below == 0 ? others.below : std::min(below, others.below);
  names.insert(names.end(), others.names.begin(), others.names.end());
  Settle();
}

void EntrySample::Settle() {
  std::erase_if(names, [this](std::uint64_t name) { return name >= below; });
  std::ranges::sort(names);
}

void EntrySample::KeepTo(std::size_t most) {
  if (names.size() <= most) return;
  below = names[most];
  std::erase_if(names, [this](std::uint64_t name) { return name >= below; });
}

void ChunkNames::Join(AccountNames* account) {
  if (account_ != nullptr) {
    account_->chunks_.erase(this);
    account_->names_ -= names_.size();
  }
  account_ = account;
  if (account_ == nullptr) {
    names_.clear();
    return;
  }
  // Bounds are 2^n - 1, and of kAllNames this makes kAllNames.
  if (account_->names_ < AccountNames::kFew) account_->below_ = account_->below_ * 2 + 1;
  if (names_.empty()) below_ = account_->below_;
  account_->chunks_.insert(this);
  account_->names_ += names_.size();
  account_->Trim();
}

void ChunkNames::Add(std::uint64_t name) {
  if (account_ == nullptr || name >= below_) return;
  names_.push_back(name);
  ++account_->names_;
  account_->Trim();
}

void ChunkNames::Remove(std::uint64_t name) {
  if (account_ == nullptr || name >= below_) return;
  const auto at = std::ranges::find(names_, name);
  if (at == names_.end()) return;
  *at = names_.back();
  names_.pop_back();
  --account_->names_;
}

void ChunkNames::AddTo(EntrySample& sample) const {
  if (account_ == nullptr) return;
  sample.below = sample.below == 0 ? below_ : std::min(sample.below, below_);
  sample.names.insert(sample.names.end(), names_.begin(), names_.end());
}

void ChunkNames::LowerTo(std::uint64_t below) {
  below_ = std::min(below_, below);
  account_->names_ -= std::erase_if(names_, [this](std::uint64_t name) { return name >= below_; });
}

void AccountNames::Trim() {
  while (names_ > kMost) {
    below_ /= 2;
    for (ChunkNames* chunk : chunks_) chunk->LowerTo(below_);
  }
}

}  // namespace headrace::dataworker
