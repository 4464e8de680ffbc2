#pragma once

#include <gtest/gtest.h>

#include <concepts>
#include <cstddef>
#include <variant>
#include <vector>

#include "coordinator/state/journal_codec.h"
#include "coordinator/state/state.h"

namespace headrace::coordinator {

// Compares two durable updates field by field: a comparison of texts would miss fields that the
// codec leaves out.
inline bool SameUpdate(const Update& one, const Update& other) {
  return std::visit(
      [&]<typename T>(const T& update) {
        if constexpr (std::equality_comparable<T>) {
          const T* same_type = std::get_if<T>(&other);
          return same_type && *same_type == update;
        } else {
          return false;
        }
      },
      one);
}

// Compares the durable parts of two states.
inline void ExpectSameState(const State& got, const State& want) {
  const std::vector<Update> ours = got.Snapshot(), theirs = want.Snapshot();
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_TRUE(SameUpdate(ours[i], theirs[i]))
        << "got  " << EncodeUpdate(ours[i]) << "\nwant " << EncodeUpdate(theirs[i]);
  }
}

}  // namespace headrace::coordinator
