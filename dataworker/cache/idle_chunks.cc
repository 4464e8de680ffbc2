#include "dataworker/cache/idle_chunks.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace headrace::dataworker {
namespace {

// Where nobody knows what a byte costs: about what the decoding of a picture does.
constexpr double kSecondsPerByte = 1e-9;

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

double IdleChunks::SecondsOf(const Chunk& chunk) const {
  double per_byte = known_bytes_ > 0 ? known_s_ / known_bytes_ : kSecondsPerByte;
  if (chunk.costs_.bytes > 0) {
    per_byte = Seconds(chunk.costs_.sum) / static_cast<double>(chunk.costs_.bytes);
  }
  return per_byte * static_cast<double>(chunk.room_.filled());
}

void IdleChunks::Add(Chunk& chunk) {
  const int users = chunk.users();
  int visits = users - chunk.users_counted_;
  chunk.users_counted_ = users;
  if (chunk.idle_) {
    for (; visits > 0; --visits) order_->Hit(chunk.id_, moment_);
    return;
  }
  if (chunk.id_ == 0) {
    chunk.id_ = ++last_id_;
    known_s_ += Seconds(chunk.costs_.sum);
    known_bytes_ += static_cast<double>(chunk.costs_.bytes);
  }
  order_->Admit(
      {.id = chunk.id_,
       .bytes = chunk.room_.size(),
       .cost_s = SecondsOf(chunk),
       .data_set = chunk.account_->data_set != 0 ? chunk.account_->data_set
                                                 : static_cast<std::uint64_t>(chunk.owner().value),
       .visits = static_cast<double>(std::max(visits, 1))},
      moment_);
  chunks_.emplace(chunk.id_, &chunk);
  chunk.idle_ = true;
}

void IdleChunks::Forget(Chunk& chunk) {
  if (!chunk.idle_) return;
  order_->Remove(chunk.id_);
  chunks_.erase(chunk.id_);
  chunk.idle_ = false;
}

Chunk* IdleChunks::First(const std::function<State(const Chunk&)>& state) {
  std::vector<eviction::ItemId> busy;
  Chunk* first = nullptr;
  while (first == nullptr) {
    const auto chosen = order_->Choose(nullptr, 1, moment_);
    if (chosen.empty()) break;
    Chunk& chunk = *chunks_.at(chosen.front());
    switch (state(chunk)) {
      case State::kIdle:
        first = &chunk;
        break;
      case State::kBusy:
        order_->Hold(chunk.id_);
        busy.push_back(chunk.id_);
        break;
      case State::kUsedAgain:
        Forget(chunk);
        break;
    }
  }
  for (const eviction::ItemId id : busy) order_->Free(id);
  return first;
}

}  // namespace headrace::dataworker
