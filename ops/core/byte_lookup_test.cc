#include "ops/core/byte_lookup.h"

#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace headrace::ops {
namespace {

constexpr unsigned kSeed = 20260;

class ByteLookupTest : public ::testing::TestWithParam<LookupLevel> {};

// Counts around the steps of 64 values, sizes that bypass the caches, and every alignment of the
// values. Bytes on both sides of the output stay as they are.
TEST_P(ByteLookupTest, EachValueGetsItsElementAndNothingElseIsWritten) {
  if (GetParam() > DetectLookupLevel()) return;
  std::mt19937 random(kSeed);
  for (const std::size_t element : {1U, 2U, 4U, 8U}) {
    Bytes table(kByteValues * element);
    for (std::byte& b : table) b = static_cast<std::byte>(random());
    for (const std::size_t count :
         {0U, 1U, 15U, 16U, 63U, 64U, 65U, 127U, 1000U, 40'000U, 65'536U}) {
      const std::size_t skip = random() % 64;
      Bytes values(skip + count);
      for (std::byte& b : values) b = static_cast<std::byte>(random());
      constexpr std::size_t kGuard = 64;
      const std::byte guard{0xA5};
      std::vector<double> memory((kGuard * 3 + count * element) / sizeof(double) + 1);
      const MutableByteSpan all = std::as_writable_bytes(std::span(memory));
      std::ranges::fill(all, guard);
      const auto misplaced = reinterpret_cast<std::uintptr_t>(all.data()) % 64;
      const std::size_t at = kGuard + (random() % 2 == 0 ? 64 - misplaced : 8);
      const MutableByteSpan out = all.subspan(at, count * element);
      LookUpBytes(ByteSpan(values).subspan(skip), table, element, out, GetParam());
      for (std::size_t i = 0; i < count; ++i) {
        const auto value = static_cast<std::size_t>(values[skip + i]);
        ASSERT_EQ(std::memcmp(out.data() + i * element, table.data() + value * element, element), 0)
            << "seed " << kSeed << ", element of " << element << ", " << i << " of " << count;
      }
      for (std::size_t i = 0; i < at; ++i) ASSERT_EQ(all[i], guard);
      for (std::size_t i = at + out.size(); i < all.size(); ++i) ASSERT_EQ(all[i], guard);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, ByteLookupTest,
                         ::testing::Values(LookupLevel::kScalar, LookupLevel::kAvx512Vbmi));

}  // namespace
}  // namespace headrace::ops
