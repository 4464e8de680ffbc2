#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace headrace::dataworker {

// Which pictures of one lane are decoded ahead of its code, and in which order. Pure; not thread-safe.
//
// The lane's samples have numbers that grow. It decodes what it does not find, from the nearest sample on. So
// that two never decode the same, the other side begins at the far end of a block of samples, and stays away
// from those that the lane reaches before it speaks again:
//
//   lane  ->                          <- decoded ahead
//   |at ... guard ........................... block ends|  then the next block
class AheadLine {
 public:
  // Samples that are taken from the last one on.
  static constexpr std::int64_t kBlock = 16;
  // The lane speaks at every sixth sample (headrace/stage/ahead_decoding.py), or somewhat later.
  static constexpr std::int64_t kGuard = 8;
  static constexpr std::size_t kMostWanted = 256;
  // No lane speaks of later samples than that, from where it is. Nor has one so many: sums below don't overflow.
  static constexpr std::int64_t kFurthest = 4096;
  static constexpr std::int64_t kMostNumber = std::int64_t{1} << 60;

  struct Wanted {
    std::int64_t number = 0;  // the sample
    std::string path;
  };

  // The lane is at this sample. What is wanted for earlier ones is dropped. Never goes back, or beyond kMostNumber.
  void At(std::int64_t number) {
    number = std::min(number, kMostNumber);
    if (number <= at_) return;
    at_ = number;
    wanted_.erase(wanted_.begin(), wanted_.lower_bound(at_));
  }
  // Beyond kMostWanted, and for samples that have passed or come after kFurthest others, nothing is added.
  void Add(Wanted wanted) {
    if (wanted.number < at_ || wanted.number - at_ > kFurthest) return;
    if (wanted_.size() >= kMostWanted) return;
    wanted_.emplace(wanted.number, std::move(wanted.path));
  }
  // The next one, which is not wanted any more then; none: there is none that the lane does not reach first.
  std::optional<Wanted> Take() {
    const auto first = wanted_.lower_bound(at_ + kGuard);
    if (first == wanted_.end()) return std::nullopt;
    const auto last = std::prev(wanted_.lower_bound((first->first / kBlock + 1) * kBlock));
    Wanted taken{last->first, std::move(last->second)};
    wanted_.erase(last);
    return taken;
  }
  // Nothing is wanted any more.
  void Clear() { wanted_.clear(); }
  [[nodiscard]] std::int64_t at() const { return at_; }
  [[nodiscard]] std::size_t size() const { return wanted_.size(); }

 private:
  std::int64_t at_ = 0;
  std::multimap<std::int64_t, std::string> wanted_;  // by number, none before at_
};

}  // namespace headrace::dataworker
