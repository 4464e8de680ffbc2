#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "ops/vision/jpeg/jpeg_huffman_table.h"

namespace headrace::ops {
namespace {

// A prefix code of random lengths in canonical order, with `symbols` dealt to its codes.
JHUFF_TBL AnyCode(std::vector<int> symbols, std::mt19937& random) {
  JHUFF_TBL table{};
  std::shuffle(symbols.begin(), symbols.end(), random);
  std::size_t given = 0;
  int free = 1;  // codes of this length that do not begin a longer code
  for (int length = 1; length <= 16 && given < symbols.size(); ++length) {
    free *= 2;
    const int left = static_cast<int>(symbols.size() - given);
    // The last code, all ones, stays free, as T.81 requires.
    int here =
        length == 16
            ? std::min(free - 1, left)
            : static_cast<int>(random() % static_cast<unsigned>(std::min({free, left + 1, 12})));
    table.bits[length] = static_cast<UINT8>(here);
    free -= here;
    for (; here > 0; --here, ++given) table.huffval[given] = static_cast<UINT8>(symbols[given]);
  }
  return table;
}

// Decodes the same bit by bit, as T.81's DECODE and RECEIVE.
class BitByBit {
 public:
  BitByBit(const JHUFF_TBL& table, bool is_ac, std::uint64_t bits)
      : table_(table), is_ac_(is_ac), bits_(bits) {}

  struct Step {
    bool sound = false, ends = false;
    int run = 0, value = 0, used = 0;  // bits used so far
  };
  Step Next() {
    std::int32_t code = 0, first = 0, index = 0;
    for (int length = 1; length <= 16; ++length) {
      code = code << 1 | Bit();
      const int here = table_.bits[length];
      if (code - first < here) {
        const int symbol = table_.huffval[index + code - first];
        const int size = symbol & 15, run = is_ac_ ? symbol >> 4 : 0;
        int bits = 0;
        for (int i = 0; i < size; ++i) bits = bits << 1 | Bit();
        const int value = size == 0 ? 0 : ExtendJpegValue(bits, size);
        return {true, is_ac_ && size == 0 && run != 15, run, value, used_};
      }
      index += here;
      first = (first + here) << 1;
    }
    return {};
  }

 private:
  int Bit() { return static_cast<int>(bits_ >> (63 - used_++) & 1); }

  const JHUFF_TBL& table_;
  bool is_ac_;
  std::uint64_t bits_;
  int used_ = 0;
};

class JpegHuffmanTableTest : public testing::Test {
 protected:
  static unsigned Seed() {
    return static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed());
  }
  // Calls check(table, its source, random bits).
  template <typename Check>
  static void ForAnyTable(bool is_ac, Check check) {
    SCOPED_TRACE("--gtest_random_seed=" + std::to_string(Seed()));
    std::mt19937_64 bits(Seed());
    std::mt19937 random(Seed());
    std::vector<int> symbols(is_ac ? 256 : 16);
    std::iota(symbols.begin(), symbols.end(), 0);
    JpegHuffmanTable table;
    for (int i = 0; i < 100; ++i) {
      const JHUFF_TBL source = AnyCode(symbols, random);
      table.Build(source, is_ac);
      table.NeedPairs();
      table.NeedSkips();
      for (int n = 0; n < 300; ++n) {
        check(table, source, bits());
        if (HasFatalFailure()) return;
      }
    }
  }
};

TEST_F(JpegHuffmanTableTest, SymbolsAreThoseReadBitByBit) {
  for (const bool is_ac : {false, true}) {
    ForAnyTable(
        is_ac, [is_ac](const JpegHuffmanTable& table, const JHUFF_TBL& source, std::uint64_t bits) {
          const auto expected = BitByBit(source, is_ac, bits).Next();
          const auto symbol = table.symbols[bits >> (64 - JpegHuffmanTable::kPeek)];
          int length = symbol.length, size = symbol.value_follows ? symbol.value : 0;
          int run = symbol.run, value = symbol.value;
          bool ends = symbol.ends_block;
          if (length == 0) {
            const auto code = table.FindLong(static_cast<std::uint32_t>(bits >> 48));
            ASSERT_EQ(code.symbol >= 0, expected.sound);
            if (!expected.sound) return;
            length = code.length;
            size = code.symbol & 15;
            run = is_ac ? code.symbol >> 4 : 0;
            value = 0;
            ends = is_ac && size == 0 && run != 15;
          }
          if (size > 0) {
            value = ExtendJpegValue(static_cast<int>(bits << length >> (64 - size)), size);
          }
          ASSERT_TRUE(expected.sound);
          ASSERT_EQ(length + size, expected.used);
          ASSERT_EQ(run, expected.run);
          ASSERT_EQ(value, expected.value);
          ASSERT_EQ(ends, expected.ends);
        });
  }
}

TEST_F(JpegHuffmanTableTest, PairsAreTwoSymbols) {
  int of_two = 0;
  ForAnyTable(
      true, [&of_two](const JpegHuffmanTable& table, const JHUFF_TBL& source, std::uint64_t bits) {
        const auto pair = table.pairs[bits >> (64 - JpegHuffmanTable::kPeek)];
        BitByBit reader(source, true, bits);
        const auto first = reader.Next();
        if (pair.length == 0) {
          ASSERT_TRUE(!first.sound || first.ends || first.used > JpegHuffmanTable::kPeek);
          return;
        }
        ASSERT_EQ(pair.first_step, first.run + 1);
        ASSERT_EQ(pair.first_value, first.value);
        if (pair.length == first.used) {
          ASSERT_EQ(pair.step, pair.first_step);
          ASSERT_EQ(pair.value, pair.first_value);
          ASSERT_FALSE(pair.ends_block);
          return;
        }
        ++of_two;
        const auto second = reader.Next();
        ASSERT_EQ(pair.length, second.used);
        ASSERT_EQ(pair.ends_block != 0, second.ends);
        ASSERT_EQ(pair.step, pair.first_step + (second.ends ? 0 : second.run + 1));
        ASSERT_EQ(pair.value, second.ends ? first.value : second.value);
      });
  EXPECT_GT(of_two, 100);
}

TEST_F(JpegHuffmanTableTest, SkipsAreAsManySymbolsAsFit) {
  int of_three = 0;
  ForAnyTable(true, [&of_three](const JpegHuffmanTable& table, const JHUFF_TBL& source,
                                std::uint64_t bits) {
    const auto skip = table.skips[bits >> (64 - JpegHuffmanTable::kSkipPeek)];
    BitByBit reader(source, true, bits);
    int used = 0, step = 0, symbols = 0;
    bool ends = false;
    while (used < skip.length) {
      const auto next = reader.Next();
      ASSERT_TRUE(next.sound);
      ASSERT_FALSE(ends);
      used = next.used;
      ends = next.ends;
      step += ends ? 0 : next.run + 1;
      ++symbols;
    }
    ASSERT_EQ(used, skip.length);
    ASSERT_EQ(step, skip.step);
    ASSERT_EQ(ends, skip.ends_block != 0);
    of_three += symbols >= 3;
  });
  EXPECT_GT(of_three, 100);
}

TEST_F(JpegHuffmanTableTest, IsMadeAnewForAnotherCode) {
  std::mt19937 random(Seed());
  std::vector<int> symbols(256);
  std::iota(symbols.begin(), symbols.end(), 0);
  JpegHuffmanTable table;
  for (int i = 0; i < 20; ++i) {
    const JHUFF_TBL source = AnyCode(symbols, random);
    JpegHuffmanTable fresh;
    for (JpegHuffmanTable* each : {&table, &fresh}) {
      each->Build(source, true);
      each->NeedPairs();
      each->NeedSkips();
    }
    EXPECT_TRUE(table.symbols == fresh.symbols);
    EXPECT_TRUE(table.pairs == fresh.pairs);
    EXPECT_TRUE(table.skips == fresh.skips);
  }
}

}  // namespace
}  // namespace headrace::ops
