#include "base/settings.h"

#include <string>
#include <utility>
#include <vector>

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

TEST(Settings, ASizeIsANumberWithAUnitOrWithout) {
  const std::vector<Setting> known{
      {.name = "size", .kind = Setting::Kind::kBytes, .value = "0", .help = "how much"}};
  const std::pair<std::string, std::uint64_t> sizes[] = {
      {"0", 0},           {"4096", 4096},     {"7b", 7},
      {"2K", 2048},       {"2kb", 2048},      {"64MiB", std::uint64_t{64} << 20},
      {"3G", 3ULL << 30}, {"1t", 1ULL << 40}, {"16777215T", 16777215ULL << 40}};
  for (const auto& [text, bytes] : sizes) {
    const auto settings = Settings::Make(known, {{"size", text}});
    ASSERT_TRUE(settings.ok()) << text;
    EXPECT_EQ(settings->Bytes("size"), bytes) << text;
  }
  for (const std::string text : {"", "G", "-1", "1.5G", "2 G", "2X", "2Gi", "2GBB", "16777216T"}) {
    const Status status = Settings::Make(known, {{"size", text}}).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), HasSubstr("is a size")) << text;
  }
}

}  // namespace
}  // namespace headrace
