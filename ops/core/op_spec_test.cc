#include "ops/core/op_spec.h"

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
                           .classes = {"v1.Example"}};
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
  EXPECT_THAT(text, ::testing::HasSubstr("| size | integer or integers | required | a size |"));
  EXPECT_THAT(text, ::testing::HasSubstr("| p | number | 0.5 | a probability |"));
  EXPECT_THAT(text, ::testing::HasSubstr("`v1.Example`"));
}

}  // namespace
}  // namespace headrace::ops
