#include "base/settings.h"

#include <string>

#include "gmock/gmock.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

const std::vector<Setting> kKnown{
    {.name = "partition", .kind = Setting::Kind::kText, .value = "cpu", .help = "where"},
    {.name = "grace-ms", .kind = Setting::Kind::kCount, .value = "2000", .help = "how long"}};

TEST(Settings, AreTheDefaultsWhereNothingIsGiven) {
  const auto settings = Settings::Make(kKnown, {});
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->Text("partition"), "cpu");
  EXPECT_EQ(settings->Count("grace-ms"), 2000);
}

TEST(Settings, TheLastOfTwoCounts) {
  const auto settings =
      Settings::Make(kKnown, {{"grace-ms", "1"}, {"partition", ""}, {"grace-ms", "0"}});
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->Text("partition"), "");
  EXPECT_EQ(settings->Count("grace-ms"), 0);
}

TEST(Settings, AnUnknownNameListsTheKnownOnes) {
  const Status status = Settings::Make(kKnown, {{"grace", "1"}}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("no setting grace; there are: partition, grace-ms"));
}

TEST(Settings, ACountIsAWholeNumber) {
  for (const std::string value : {"-1", "1.5", "", "many", " 1", "1 ", "99999999999999999999"}) {
    const Status status = Settings::Make(kKnown, {{"grace-ms", value}}).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << value;
    EXPECT_THAT(status.message(), HasSubstr("grace-ms")) << value;
  }
}

}  // namespace
}  // namespace headrace
