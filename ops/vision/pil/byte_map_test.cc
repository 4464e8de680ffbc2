#include "ops/vision/pil/byte_map.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "ops/vision/testing/test_util.h"

namespace headrace::ops {
namespace {

constexpr std::int64_t kWidths[] = {1, 2, 5, 15, 16, 17, 21, 22, 42, 43, 63, 64, 65, 130, 224};

std::array<ByteTable, 3> RandomTables(std::mt19937& random) {
  std::array<ByteTable, 3> tables;
  for (ByteTable& table : tables) {
    table = MakeByteTable([&](int) { return random(); });
  }
  return tables;
}

TEST(ByteMap, EveryValueComesFromTheTableOfItsChannel) {
  std::mt19937 random(3);
  for (const auto& [channels, pixel_bytes] : {std::pair{1, 1}, {1, 3}, {1, 4}, {3, 3}, {3, 4}}) {
    for (const std::int64_t width : kWidths) {
      for (const std::size_t slack : {0, 7}) {
        const std::array<ByteTable, 3> tables = RandomTables(random);
        for (const bool one_table : {false, true}) {
          for (const PointwiseLevel level : PointwiseLevels()) {
            RandomCanvas picture(3, width, channels, pixel_bytes, slack, /*seed=*/random());
            const std::vector<std::uint8_t> before = Packed(picture.image);
            const std::vector<std::uint8_t> around = picture.Around();
            one_table ? MapValues(picture.canvas(), tables[0], level)
                      : MapValues(picture.canvas(), tables, level);
            const std::vector<std::uint8_t> after = Packed(picture.image);
            for (std::size_t i = 0; i < before.size(); ++i) {
              const ByteTable& table = tables[one_table ? 0 : i % channels];
              ASSERT_EQ(after[i], table[before[i]])
                  << "level " << static_cast<int>(level) << " width " << width << " byte " << i;
            }
            ASSERT_EQ(picture.Around(), around) << "wrote outside of the rows";
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace headrace::ops
