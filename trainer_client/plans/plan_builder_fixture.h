#pragma once

#include <cstdint>
#include <utility>

#include "headrace/plan_source.h"

// Sources that tests of plans take. Nobody reads their files.
namespace headrace::test_plans {

inline PlanSource Pictures() {
  return std::move(FilesSource("/pictures", {"a.jpg", "b.jpg", "c.jpg"}, {0, 1, 0})).value();
}
inline PlanSource Pairs() {
  return std::move(FileGroupsSource("/pictures", {{"a.jpg", "a.png"}, {"b.jpg", "b.png"}}, {0, 0}))
      .value();
}
inline PlanSource Columns() {
  static const Bytes pixels(2 * 8 * 8 * 3), labels(2 * sizeof(std::int64_t));
  return std::move(ArraysSource(2, {{DType::kU8, {8, 8, 3}, {pixels, nullptr}},
                                    {DType::kI64, {}, {labels, nullptr}}}))
      .value();
}

}  // namespace headrace::test_plans
