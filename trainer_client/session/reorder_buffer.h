#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace headrace::client {

// Holds finished batches until their turn comes: at most the session's outstanding ones.
// Thread-compatible.
template <typename T>
class ReorderBuffer {
 public:
  explicit ReorderBuffer(bool in_order) : in_order_(in_order) {}

  // Starts with batch `next`. What is held goes to `dropped`.
  template <typename Dropped>
  void Restart(std::int64_t next, Dropped dropped) {
    for (auto& [batch, item] : items_) dropped(std::move(item));
    items_.clear();
    next_ = next;
  }
  // Puts a batch. False: it was put or taken before. REQUIRES: batch is of this iteration.
  bool Put(std::int64_t batch, T item) {
    if (in_order_ && batch < next_) return false;
    return items_.emplace(batch, std::move(item)).second;
  }
  [[nodiscard]] bool HasNext() const {
    return !items_.empty() && (!in_order_ || items_.begin()->first == next_);
  }
  // Whether Take would give the batch, were it there.
  [[nodiscard]] bool Wants(std::int64_t batch) const { return !in_order_ || batch == next_; }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  // Takes the next batch in order, or, without order, the earliest that is there.
  std::optional<T> Take() {
    if (!HasNext()) return std::nullopt;
    auto node = items_.extract(items_.begin());
    next_ = node.key() + 1;
    return std::move(node.mapped());
  }
  // Takes a batch back that has become void.
  std::optional<T> Withdraw(std::int64_t batch) {
    auto node = items_.extract(batch);
    if (node.empty()) return std::nullopt;
    return std::move(node.mapped());
  }

 private:
  bool in_order_;
  std::int64_t next_ = 0;
  std::map<std::int64_t, T> items_;
};

}  // namespace headrace::client
