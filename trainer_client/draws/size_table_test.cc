#include "trainer_client/draws/size_table.h"

#include <map>
#include <optional>
#include <random>
#include <string>

#include "gtest/gtest.h"

namespace headrace::client {
namespace {

constexpr std::int64_t kRows = 200;

TensorSpec Image(std::int64_t height, std::int64_t width, std::int64_t channels = 3) {
  return {DType::kU8, Layout::kHwc, {height, width, channels}};
}

// Images of every size that a word holds, one pixel more, and tensors that are no uint8 images.
TensorSpec AnySpec(std::mt19937_64& random) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 30) - 1;
  const auto side = [&]() -> std::int64_t {
    const std::int64_t borders[] = {0, 1, 15, 16, kMost - 1, kMost, kMost + 1};
    const std::uint64_t pick = random() % 10;
    return pick < std::size(borders) ? borders[pick] : static_cast<std::int64_t>(random() % 5000);
  };
  switch (random() % 5) {
    case 0:
      return {DType::kF32, Layout::kHwc, {side(), side(), 3}};
    case 1:
      return {DType::kU8, Layout::kPlain, {side(), side(), 3}};
    case 2:
      return {DType::kI64, Layout::kPlain, {side()}};
    default:
      return Image(side(), side(), side() % 20);
  }
}

TEST(SizeTable, GivesBackWhatWasSetLast) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  SizeTable table(kRows);
  std::map<std::int64_t, std::optional<TensorSpec>> model;
  for (int step = 0; step < 5000; ++step) {
    const auto row = static_cast<std::int64_t>(random() % kRows);
    if (random() % 5 == 0) {
      table.Forget(row);
      model.erase(row);
    } else {
      model[row] = random() % 8 == 0 ? std::nullopt : std::optional(AnySpec(random));
      table.Set(row, model[row]);
    }
    const auto other = static_cast<std::int64_t>(random() % kRows);
    const auto at = model.find(other);
    if (at == model.end()) {
      EXPECT_EQ(table.state(other), SizeTable::State::kUnknown);
    } else if (!at->second) {
      EXPECT_EQ(table.state(other), SizeTable::State::kNoNativeForm);
    } else {
      ASSERT_EQ(table.state(other), SizeTable::State::kKnown) << at->second->ToString();
      EXPECT_EQ(table.spec(other), *at->second);
    }
  }
}

}  // namespace
}  // namespace headrace::client
