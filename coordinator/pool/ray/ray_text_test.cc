#include "coordinator/pool/ray/ray_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "coordinator/pool/ray/ray_helper_text.h"

namespace headrace::coordinator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(RayText, TheHelpersTextIsAsLongInCharactersAsInBytes) {
  EXPECT_THAT(std::string(RayHelperText()), HasSubstr("class Worker:"));
  for (const char c : RayHelperText()) ASSERT_LT(static_cast<unsigned char>(c), 128U);
}

TEST(RayText, SettingsAreOneLineWhateverTheWords) {
  RayWishes wishes{.address = "auto", .name_space = "headrace", .cores = 2, .memory_bytes = 77};
  wishes.resources["spot"] = 0.5;
  const std::string line = RaySettings(wishes, "p", {"headrace", "a \"b\"\n", "\xff"});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["cores"], 2);
  EXPECT_EQ(json["resources"]["spot"], 0.5);
  EXPECT_EQ(json["command"][1], "a \"b\"\n");
  EXPECT_TRUE(json["labels"].is_object());
  EXPECT_EQ(RayOrder("term", "p.1.2"), "{\"do\":\"term\",\"name\":\"p.1.2\"}\n");
  EXPECT_EQ(RayOrder("stop"), "{\"do\":\"stop\"}\n");
}

TEST(RayText, EventsAreReadAndNonsenseIsNone) {
  const auto ended =
      ReadRayEvent(R"({"is": "ended", "name": "p.1.2", "how": "was killed\nby us", "cpu": 1.5})");
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->kind, RayEvent::Kind::kEnded);
  EXPECT_EQ(ended->member, "p.1.2");
  EXPECT_THAT(ended->text, testing::Not(HasSubstr("\n")));
  EXPECT_EQ(ended->cpu_seconds, 1.5);
  const auto listed = ReadRayEvent(R"({"is": "listed", "members": ["a", 7, "b"]})");
  ASSERT_TRUE(listed.ok());
  EXPECT_THAT(listed->members, ElementsAre("a", "b"));
  EXPECT_EQ(ReadRayEvent(R"({"is": "ended", "name": 7, "cpu": -1})")->cpu_seconds, 0);
  for (const char* line :
       {"", "[]", "{}", "7", R"({"is": 7})", R"({"is": "moved"})", "{\"is\": "}) {
    EXPECT_EQ(ReadRayEvent(line).status().code(), Code::kUnavailable) << line;
  }
}

TEST(RayText, ResourcesAndLabelsAreTheUsers) {
  EXPECT_THAT(*ReadRayResources("spot=1,disk=0.25"),
              ElementsAre(Pair("disk", 0.25), Pair("spot", 1.0)));
  EXPECT_TRUE(ReadRayResources("")->empty());
  for (const char* wrong : {"spot", "=1", "spot=", "spot=x", "spot=0", "spot=-1", "spot=1x",
                            "CPU=2", "spot=nan", "spot=inf"}) {
    EXPECT_THAT(ReadRayResources(wrong).status().message(), HasSubstr("--ray-resources")) << wrong;
  }
  EXPECT_THAT(*ReadRayLabels("zone=a"), ElementsAre(Pair("zone", "a")));
  EXPECT_THAT(ReadRayLabels("zone").status().message(), HasSubstr("--ray-labels"));
}

TEST(RayText, NamesOfMembersAreThePools) {
  EXPECT_EQ(RayMemberName("headrace-h.site-7070", 17, 3), "headrace-h.site-7070.17.3");
  EXPECT_TRUE(IsRayMemberOf("headrace-h", "headrace-h.17.3"));
  for (const char* other : {"headrace-h", "headrace-h.", "headrace-h.17", "headrace-h.17.x",
                            "headrace-h.17.3.4", "headrace-h.site-7070.17.3", "x.17.3"}) {
    EXPECT_FALSE(IsRayMemberOf("headrace-h", other)) << other;
  }
}

}  // namespace
}  // namespace headrace::coordinator
