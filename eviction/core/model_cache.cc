#include "eviction/core/model_cache.h"

#include "base/check.h"

namespace headrace::eviction {

bool ModelCache::Ask(Item item, double now_s) {
  gone_.clear();
  item.visits = 1;
  if (Has(item.id)) {
    order_->Hit(item.id, now_s);
    return true;
  }
  const bool fits =
      used_ + item.bytes <= capacity_ ||
      (item.bytes <= capacity_ && MakeRoom(&item, used_ + item.bytes - capacity_, now_s));
  if (fits) {
    order_->Admit(item, now_s);
    bytes_.emplace(item.id, item.bytes);
    used_ += item.bytes;
  } else {
    order_->Refuse(item, now_s);
  }
  return false;
}

bool ModelCache::MakeRoom(const Item* newcomer, std::uint64_t bytes, double now_s) {
  const std::vector<ItemId> chosen = order_->Choose(newcomer, bytes, now_s);
  for (const ItemId id : chosen) Drop(id);
  gone_ = chosen;
  return !chosen.empty();
}

void ModelCache::Drop(ItemId id) {
  const auto found = bytes_.find(id);
  HR_CHECK(found != bytes_.end());
  used_ -= found->second;
  bytes_.erase(found);
  order_->Remove(id);
}

bool ModelCache::Resize(std::uint64_t capacity, double now_s) {
  gone_.clear();
  if (used_ > capacity && !MakeRoom(nullptr, used_ - capacity, now_s)) return false;
  capacity_ = capacity;
  return true;
}

}  // namespace headrace::eviction
