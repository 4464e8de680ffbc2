#include "coordinator/pool/core/command_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::coordinator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CommandWords, AreCutAsAShellCutsThem) {
  EXPECT_THAT(*SplitWords("  a  b\tc\n"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(*SplitWords("'a b' \"c d\" e\\ f g'h'\"i\""),
              ElementsAre("a b", "c d", "e f", "ghi"));
  EXPECT_THAT(*SplitWords("'' \"\""), ElementsAre("", ""));
  EXPECT_THAT(*SplitWords("'a\\b' \"a\\\"b\" $HOME"), ElementsAre("a\\b", "a\"b", "$HOME"));
  EXPECT_THAT(*SplitWords(" "), IsEmpty());
  EXPECT_EQ(SplitWords("a 'b").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(SplitWords("a \"b").status().code(), Code::kInvalidArgument);
}

TEST(CommandWords, QuotedAndCutAgainAreTheSame) {
  const std::vector<std::string> words = {"plain", "two words",          "it's",
                                          "",      "$HOME `x` \\ \"q\"", "a\nb"};
  EXPECT_EQ(*SplitWords(QuoteWords(words)), words);
}

TEST(CommandWords, PlainOnesNeedNoQuotes) {
  EXPECT_TRUE(IsPlainWord("--mem=16G,x:/a_b.c"));
  for (const char* word : {"", "a b", "$x", "a'b", "*", "a;b", "~"}) {
    EXPECT_FALSE(IsPlainWord(word)) << word;
  }
}

}  // namespace
}  // namespace headrace::coordinator
