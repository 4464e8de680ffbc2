#include "dataworker/share/fair_share.h"

#include <algorithm>

#include "dataworker/share/moving_mean.h"

namespace headrace::dataworker {

void FairShare::Put(Heap& heap, std::size_t at, Member* member) {
  heap[at] = member;
  member->at_ = at;
}

void FairShare::Up(Heap& heap, std::size_t at) {
  Member* member = heap[at];
  while (at > 0) {
    const std::size_t parent = (at - 1) / 2;
    if (!Before(*member, *heap[parent])) break;
    Put(heap, at, heap[parent]);
    at = parent;
  }
  Put(heap, at, member);
}

void FairShare::Down(Heap& heap, std::size_t at) {
  Member* member = heap[at];
  while (true) {
    std::size_t child = 2 * at + 1;
    if (child >= heap.size()) break;
    if (child + 1 < heap.size() && Before(*heap[child + 1], *heap[child])) ++child;
    if (!Before(*heap[child], *member)) break;
    Put(heap, at, heap[child]);
    at = child;
  }
  Put(heap, at, member);
}

void FairShare::Moved(Member& member) {
  if (!member.active()) return;
  Heap& heap = HeapOf(member);
  Up(heap, member.at_);
  Down(heap, member.at_);
}

void FairShare::Remove(Member& member) {
  Heap& heap = HeapOf(member);
  const std::size_t at = member.at_;
  Member* last = heap.back();
  heap.pop_back();
  member.at_ = Member::kNowhere;
  if (last == &member) return;
  Put(heap, at, last);
  Moved(*last);
}

void FairShare::Activate(Member& member, Kind kind) {
  if (member.active()) {
    if (member.kind_ == kind) return;
    Remove(member);
  } else {
    member.time_ = std::max(member.time_, now_);
    member.floor_ = now_;
  }
  member.kind_ = kind;
  Heap& heap = HeapOf(member);
  heap.push_back(&member);
  Up(heap, heap.size() - 1);
}

void FairShare::Deactivate(Member& member) {
  if (member.active()) Remove(member);
}

void FairShare::Leave(Member& member) {
  Deactivate(member);
  member.time_ = member.floor_ = 0;
  member.mean_ = -1;
}

FairShare::Member* FairShare::First(bool with_pausable) const {
  const Heap& plain = heaps_[static_cast<std::size_t>(Kind::kPlain)];
  const Heap& pausable = heaps_[static_cast<std::size_t>(Kind::kPausable)];
  Member* first = plain.empty() ? nullptr : plain.front();
  if (with_pausable && !pausable.empty() &&
      (first == nullptr || Before(*pausable.front(), *first))) {
    first = pausable.front();
  }
  return first;
}

double FairShare::Start(Member& member, double units) {
  const double charged = (member.mean_ >= 0 ? member.mean_ : mean_) * units;
  now_ = std::max(now_, member.time_);
  member.time_ += charged / member.weight_;
  member.turn_ = ++turns_;
  Moved(member);
  return charged;
}

void FairShare::Settle(Member& member, double charged, double cost, double units) {
  const double each = cost / units;
  member.mean_ = NextMean(member.mean_, each);
  mean_ = NextMean(mean_, each);
  member.time_ = std::max(member.time_ + (cost - charged) / member.weight_,
                          std::min(member.time_, member.floor_));
  Moved(member);
}

void FairShare::Charge(Member& member, double cost, double most) {
  const double from = std::max(member.time_, now_);
  const double limit = std::max(member.time_, now_ + most / member.weight_);
  member.time_ = std::min(from + cost / member.weight_, limit);
  Moved(member);
}

}  // namespace headrace::dataworker
