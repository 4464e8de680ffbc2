#include "trainer_client/session/pickle_extents.h"

#include <algorithm>
#include <utility>

namespace headrace::client {
namespace {

// The hash of a tuple, and the end of a container, go down into their parts without a bound, on the
// stack of the thread.
constexpr std::uint32_t kMostDepth = 1000;
// A value that has a part twice is looked through twice, by its hash, a comparison or a call: t = (t, t)
// grows twofold with each two bytes. So what they look through is bounded, of one value and of all.
constexpr std::uint64_t kMostParts = std::uint64_t{1} << 24;
constexpr std::uint64_t kMostPartsPerByte = 64;
// A bound of this reader's own memory: each byte may be a container.
constexpr std::size_t kMostObjects = std::size_t{1} << 23;

std::uint32_t Bounded(std::uint64_t parts) {
  return static_cast<std::uint32_t>(std::min(parts, kMostParts + 1));
}

}  // namespace

void Extent::Add(const Extent& part) {
  depth = std::max(depth, part.depth);
  parts = Bounded(std::uint64_t{parts} + part.parts);
}

Extent Around(const Extent& parts) {
  return {.depth = parts.depth + 1, .parts = Bounded(std::uint64_t{parts.parts} + 1)};
}

bool PickleExtents::Make(const Extent& parts) {
  if (objects_.size() >= kMostObjects) {
    return TooMuch("more than " + std::to_string(kMostObjects) + " containers");
  }
  objects_.push_back({.extent = Around(parts)});
  return true;
}

// One that is a part of others by then makes them grow, too; how many, and how often they have it, nobody
// has noted. So it counts for all.
bool PickleExtents::Grow(std::uint32_t number, const Extent& part, std::uint32_t own) {
  Object& object = objects_[number];
  const std::uint32_t depth = std::max(object.extent.depth, part.depth + 1);
  if (object.holders > own) {
    late_depth_ += depth - object.extent.depth;
    late_parts_ = Bounded(late_parts_ * (1 + std::uint64_t{part.parts}));
  }
  object.extent.depth = depth;
  object.extent.parts = Bounded(std::uint64_t{object.extent.parts} + part.parts);
  return MayNest(object.extent);
}

bool PickleExtents::MayNest(const Extent& extent) {
  if (extent.depth + late_depth_ <= kMostDepth) return true;
  return TooMuch("values inside of values, more than " + std::to_string(kMostDepth) + " deep");
}

bool PickleExtents::LooksThrough(const Extent& extent) {
  if (extent.parts <= 1) return true;
  // What has grown late may be a part of it, each time.
  const std::uint64_t parts = Bounded(late_parts_ * extent.parts);
  looked_through_ += parts;
  if (parts <= kMostParts && looked_through_ <= kMostParts + kMostPartsPerByte * bytes_)
    return true;
  return TooMuch("values that have too many parts to be keys or arguments");
}

bool PickleExtents::TooMuch(std::string why) {
  why_ = std::move(why);
  return false;
}

}  // namespace headrace::client
