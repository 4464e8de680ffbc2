#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "remote/store.h"

namespace headrace::remote {

// What refusals have taught of buckets, so that each is made once and not for each object: in which
// region a bucket lies, and by how much its store's clock is ahead of ours. One thread.
class StoreLessons {
 public:
  // Plans of strangers name buckets: of so many, all is forgotten then.
  static constexpr std::size_t kMost = 1024;

  // REQUIRES, of all: store.s3().
  void LearnRegion(const Store& store, const std::string& region);
  // The store's own where nothing was learnt.
  [[nodiscard]] std::string RegionOf(const Store& store) const;

  // By the date of an answer and the wall clock here; milliseconds since the Unix epoch.
  void LearnClock(const Store& store, std::int64_t theirs, std::int64_t ours);
  // Milliseconds; 0 where nothing was learnt.
  [[nodiscard]] std::int64_t AheadOf(const Store& store) const;

 private:
  struct Lesson {
    std::string region;  // empty: none was learnt
    std::int64_t ahead_millis = 0;
  };
  Lesson& LessonOf(const Store& store);
  [[nodiscard]] const Lesson* Find(const Store& store) const;

  std::map<std::string, Lesson> lessons_;  // by the bucket's URL
};

}  // namespace headrace::remote
