#include "base/plain_text.h"

#include <gtest/gtest.h>

#include <string>

#include "base/log.h"

namespace headrace {
namespace {

TEST(PlainText, WhatIsPlainStays) {
  for (const std::string text :
       {"", "train.py", "a b=\"c\"\\n", "Übung 训练 \xf0\x9f\x98\x80", "\xef\xbf\xbd"}) {
    EXPECT_TRUE(IsPlainText(text)) << text;
    EXPECT_EQ(PlainText(text), text);
  }
}

TEST(PlainText, WhatSteersATerminalOrBreaksALineIsEscaped) {
  EXPECT_EQ(PlainText("a\nb\r\tc"), "a\\x0ab\\x0d\\x09c");
  EXPECT_EQ(PlainText("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(PlainText(std::string("nul\0l", 5)), "nul\\x00l");
  EXPECT_EQ(PlainText("\x7f"), "\\x7f");
  EXPECT_EQ(PlainText("\xc2\x9b[31m"), "\\xc2\\x9b[31m") << "the control characters of 8 bits";
  EXPECT_EQ(PlainText("\xe2\x80\xa8"), "\\xe2\\x80\\xa8") << "a line separator";
  EXPECT_EQ(PlainText("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "from right to left";
}

TEST(PlainText, WhatIsNoUtf8IsEscaped) {
  for (const std::string text : {"\xff", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                                 "\xf4\x90\x80\x80", "\x80", "\xe2\x82"}) {
    EXPECT_FALSE(IsPlainText(text));
    const std::string plain = PlainText(text);
    EXPECT_EQ(plain.size(), 4 * text.size()) << plain;
    EXPECT_TRUE(IsPlainText(plain));
  }
}

TEST(PlainText, ALongOneIsCutBetweenCharacters) {
  EXPECT_EQ(PlainText("12345678", 8), "12345678");
  EXPECT_EQ(PlainText("123456789", 8), "12345...");
  EXPECT_EQ(PlainText("1234\xc3\x9c\xc3\x9c\xc3\x9c", 8), "1234...");
  EXPECT_EQ(PlainText("1234\n\n", 8), "1234...");
  EXPECT_EQ(PlainText(std::string(5000, '\n'), 256).size(), 255U);
}

TEST(PlainText, ALineOfTheLogStaysOne) {
  testing::internal::CaptureStderr();
  LogError("a file is missing: a\n2026-01-01 I all is well\x1b[2K");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("missing: a\\x0a2026-01-01 I all is well\\x1b[2K\n"), std::string::npos)
      << log;
}

}  // namespace
}  // namespace headrace
