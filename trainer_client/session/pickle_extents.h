#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::client {

// How much lies in a value of a pickle: the longest way down, and its parts, each as often as it is
// there.
struct Extent {
  std::uint32_t depth = 0;
  std::uint32_t parts = 0;

  void Add(const Extent& part);
};

// The extent of a value that has these parts.
[[nodiscard]] Extent Around(const Extent& parts);

// The values of a pickle that can grow after they were made, by number, and what bounds they keep. All
// that the unpickler's stack and memo have of such a value are the same one. Each method returns false
// where a bound is passed, and why() says which. Pure.
class PickleExtents {
 public:
  struct Object {
    Extent extent;
    std::uint32_t holders = 0;  // values that it is a part of by now
    bool has_state = false;
    bool odd_keys = false;     // a dict: one is no text
    bool dunder_keys = false;  // a dict: one is a text that begins so
  };

  explicit PickleExtents(std::size_t bytes) : bytes_(bytes) {}

  // A new one that has `parts` inside; its number is the one before size().
  [[nodiscard]] bool Make(const Extent& parts);
  [[nodiscard]] std::size_t size() const { return objects_.size(); }
  [[nodiscard]] Object& at(std::uint32_t number) { return objects_[number]; }
  [[nodiscard]] const Object& at(std::uint32_t number) const { return objects_[number]; }
  // A new part of an object. `own`: holders that don't count.
  [[nodiscard]] bool Grow(std::uint32_t number, const Extent& part, std::uint32_t own = 0);
  // Whether a value may be as deep.
  [[nodiscard]] bool MayNest(const Extent& extent);
  // Whether a hash, a comparison or a call may look through it: through all parts of it.
  [[nodiscard]] bool LooksThrough(const Extent& extent);
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  bool TooMuch(std::string why);

  const std::size_t bytes_;
  std::vector<Object> objects_;
  // By how much objects grew that were parts of others by then.
  std::uint32_t late_depth_ = 0;
  std::uint64_t late_parts_ = 1;
  std::uint64_t looked_through_ = 0;
  std::string why_;
};

}  // namespace headrace::client
