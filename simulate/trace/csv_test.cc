#include "simulate/trace/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::simulate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Csv, FieldsAreTrimmedAndQuotesHoldSeparators) {
  EXPECT_THAT(*Split(R"( a ,"b,""c""", d)", ','), ElementsAre("a", "b,\"c\"", "d"));
  EXPECT_THAT(*Split("", ','), ElementsAre(""));
  EXPECT_FALSE(Split("a,\"b", ',').has_value());
}

TEST(Csv, QuotedFieldsComeBack) {
  for (const std::string field : {"plain", "a,b", "say \"x\""}) {
    EXPECT_THAT(*Split(Quoted(field) + ",z", ','), ElementsAre(field, "z"));
  }
}

TEST(Csv, FieldsMayBeMissingAtTheEnd) {
  const Table table("t.csv", "a,b\n1\n", ',', true);
  const auto rows = table.Rows();
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(*(*rows)[0].Number("a", 0, 10), 1);
  EXPECT_EQ((*rows)[0].Text("b"), "");
}

TEST(Csv, ARowOfMoreFieldsThanTheHeaderIsNamed) {
  const auto rows = Table("t.csv", "a,b\n1,2\n\n1,2,3\n", ',', true).Rows();
  ASSERT_FALSE(rows.ok());
  EXPECT_EQ(rows.status().message(), "t.csv:4: expected at most the 2 fields of the header, not 3");
}

TEST(Csv, NumbersOutsideTheirRangeAreNamed) {
  const Table table("t.csv", "a,b\n-1,x\x1b[2J\n", ',', true);
  const auto rows = table.Rows();
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ((*rows)[0].Number("a", 0, 10).status().message(),
            "t.csv:2: a: expected a number from 0 to 10, not '-1'");
  EXPECT_THAT((*rows)[0].Number("b", 0, 1).status().message(), HasSubstr("not 'x?[2J'"));
  EXPECT_FALSE((*rows)[0].Number("missing", 0, 1).ok());
  EXPECT_FALSE((*rows)[0].Optional("missing", 0, 1)->has_value());
}

TEST(Csv, OnlyWholeFiniteTextsAreNumbers) {
  EXPECT_EQ(ParseNumber("2.5e3"), 2500);
  for (const char* text : {"", "nan", "inf", "-inf", "1x", " 1", "0x10", "1e999"}) {
    EXPECT_FALSE(ParseNumber(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace headrace::simulate
