#include "ops/core/op_spec.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/core/op_registry.h"

namespace headrace::ops {
namespace {

const OpSpec& Example() {
  static const OpSpec spec{.name = "example",
                           .doc = "Does nothing.",
                           .args = {{"size", ArgType::kInts, std::nullopt, "a size", true},
                                    {"p", ArgType::kNumber, 0.5, "a probability"},
                                    {"fast", ArgType::kBool, std::int64_t{0}, "a switch"},
                                    {"note", ArgType::kText, std::nullopt, "a text"}},
                           .classes = {"v1.Example"},
                           .draws = "torch: a number"};
  return spec;
}

TEST(OpArgs, FillsDefaultsAndReadsNumbersAsLists) {
  const Result<OpArgs> args = OpArgs::Make(Example(), {{"size", std::int64_t{3}}});
  ASSERT_TRUE(args.ok());
  EXPECT_EQ(args->Ints("size"), std::vector<std::int64_t>{3});
  EXPECT_EQ(args->Numbers("size"), std::vector<double>{3.0});
  EXPECT_EQ(args->Number("p"), 0.5);
  EXPECT_FALSE(args->Bool("fast"));
  EXPECT_FALSE(args->Has("note"));
}

TEST(OpArgs, WrongArgumentsAreNamed) {
  EXPECT_EQ(OpArgs::Make(Example(), {}).status(), InvalidArgument("argument size is missing"));
  EXPECT_EQ(OpArgs::Make(Example(), {{"size", std::string("x")}}).status(),
            InvalidArgument("argument size is not integer or integers"));
  EXPECT_EQ(
      OpArgs::Make(Example(), {{"size", std::int64_t{1}}, {"fast", std::int64_t{2}}}).status(),
      InvalidArgument("argument fast is not 0 or 1"));
  EXPECT_EQ(OpArgs::Make(Example(), {{"size", std::int64_t{1}}, {"new", 1.0}}).status(),
            Unsupported("argument new has no native form"));
}

TEST(OpSpec, DescriptionIsATable) {
  const std::string text = Describe(Example());
  EXPECT_THAT(text, ::testing::HasSubstr("### example"));
  EXPECT_THAT(text,
              ::testing::HasSubstr("| size | integer or integers | any |  | required | a size |"));
  EXPECT_THAT(text, ::testing::HasSubstr("| p | number | any |  | 0.5 | a probability |"));
  EXPECT_THAT(text, ::testing::HasSubstr("`v1.Example`"));
  EXPECT_THAT(text, ::testing::HasSubstr("Draws: torch: a number."));
}

TEST(ArgLimits, AreToldAndChecked) {
  const ArgSpec size =
      ArgSpec{"size", ArgType::kInts, std::nullopt, "a size"}.In(1, 10).Count({1, 2}).Unit(
          "pixels");
  EXPECT_EQ(LimitsText(size), "1..10, 1 or 2 values");
  EXPECT_TRUE(CheckLimits(size, std::int64_t{10}).ok());
  EXPECT_TRUE(CheckLimits(size, std::vector<std::int64_t>{1, 10}).ok());
  EXPECT_EQ(CheckLimits(size, std::vector<std::int64_t>{3, 11}),
            InvalidArgument("argument size is [3, 11], and may be 1..10, 1 or 2 values (pixels)"));
  EXPECT_FALSE(CheckLimits(size, std::vector<std::int64_t>{}).ok());
  EXPECT_FALSE(CheckLimits(size, std::vector<std::int64_t>{1, 1, 1}).ok());
  EXPECT_EQ(CheckLimits(size, std::string("x")),
            InvalidArgument("argument size is \"x\", which is not integer or integers"));

  const ArgSpec share = ArgSpec{"share", ArgType::kNumber, std::nullopt, "a part"}.Above(0, 1);
  EXPECT_EQ(LimitsText(share), "above 0, up to 1");
  EXPECT_TRUE(CheckLimits(share, 1.0).ok());
  EXPECT_FALSE(CheckLimits(share, 0.0).ok());
  EXPECT_FALSE(CheckLimits(share, std::nan("")).ok());

  const ArgSpec mode =
      ArgSpec{"mode", ArgType::kText, std::nullopt, "a mode"}.OneOf({"a", "b", "c"});
  EXPECT_EQ(CheckLimits(mode, std::string("d")),
            InvalidArgument("argument mode is \"d\", and may be a, b or c"));
  EXPECT_EQ(LimitsText(ArgSpec{"any", ArgType::kNumber, std::nullopt, "a number"}), "any");
  EXPECT_EQ(LimitsText(ArgSpec{"depth", ArgType::kInt, std::nullopt, "a depth"}.AtMost(-3)),
            "up to -3");
  EXPECT_EQ(LimitsText(ArgSpec{"depth", ArgType::kInt, std::nullopt, "a depth"}.AtLeast(0.5)),
            "from 0.5");
}

}  // namespace
}  // namespace headrace::ops
