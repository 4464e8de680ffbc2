#include "remote/store_lessons.h"

namespace headrace::remote {

StoreLessons::Lesson& StoreLessons::LessonOf(const Store& store) {
  if (lessons_.size() >= kMost) lessons_.clear();
  return lessons_[store.BucketUrl("").Name()];
}

const StoreLessons::Lesson* StoreLessons::Find(const Store& store) const {
  if (lessons_.empty()) return nullptr;
  const auto at = lessons_.find(store.BucketUrl("").Name());
  return at == lessons_.end() ? nullptr : &at->second;
}

void StoreLessons::LearnRegion(const Store& store, const std::string& region) {
  LessonOf(store).region = region;
}

std::string StoreLessons::RegionOf(const Store& store) const {
  const Lesson* const lesson = Find(store);
  return lesson == nullptr || lesson->region.empty() ? store.region() : lesson->region;
}

void StoreLessons::LearnClock(const Store& store, std::int64_t theirs, std::int64_t ours) {
  LessonOf(store).ahead_millis = theirs - ours;
}

std::int64_t StoreLessons::AheadOf(const Store& store) const {
  const Lesson* const lesson = Find(store);
  return lesson == nullptr ? 0 : lesson->ahead_millis;
}

}  // namespace headrace::remote
