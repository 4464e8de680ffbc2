#include "cli/config_file.h"

#include <CLI/CLI.hpp>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

class ConfigFileTest : public ::testing::Test {
 protected:
  ConfigFileTest() {
    CLI::App* worker = app_.add_subcommand("worker");
    worker->add_option("--cache", text_);
    worker->add_option("--allow-root", list_);
    worker->add_flag("--insecure", flag_);
    CLI::App* jobs = app_.add_subcommand("jobs");
    jobs->add_flag("--json", flag_);
    jobs->add_subcommand("show")->add_flag("--json", flag_);
  }
  Result<Configured> With(Words words, const std::string& text) {
    return WithConfig(app_, std::move(words), text,
                      [this](const std::string& name) { return environment_[name]; });
  }
  std::string Refused(const std::string& text) {
    const auto result = With({"worker"}, text);
    EXPECT_EQ(result.status().code(), Code::kInvalidArgument) << text;
    return result.status().message();
  }

  CLI::App app_;
  std::string text_;
  Words list_;
  bool flag_ = false;
  std::map<std::string, std::string> environment_;
};

constexpr char kFile[] = R"(
coordinator = "tcp://head:7070"
[worker]
cache = "8G"
allow-root = ["/data", "/more data"]
insecure = true
[jobs]
json = false
[jobs.show]
json = true
)";

TEST_F(ConfigFileTest, ItsWordsFollowTheCommand) {
  const auto worker = With({"worker"}, kFile);
  ASSERT_TRUE(worker.ok()) << worker.status().ToString();
  EXPECT_THAT(worker->words, ElementsAre("worker", "--cache=8G", "--allow-root=/data",
                                         "--allow-root=/more data", "--insecure"));
  EXPECT_EQ(worker->coordinator, "tcp://head:7070");
  EXPECT_EQ(worker->keys, "");
  EXPECT_THAT(With({"jobs"}, kFile)->words, ElementsAre("jobs"));
  EXPECT_THAT(With({"jobs", "show", "7"}, kFile)->words,
              ElementsAre("jobs", "show", "--json", "7"));
  EXPECT_THAT(With({"--help"}, kFile)->words, ElementsAre("--help"));
}

TEST_F(ConfigFileTest, TheCommandLineAndTheEnvironmentComeFirst) {
  EXPECT_THAT(With({"worker", "--cache", "1G", "--allow-root=/x"}, kFile)->words,
              ElementsAre("worker", "--insecure", "--cache", "1G", "--allow-root=/x"));
  environment_ = {{"HEADRACE_CACHE", "2G"}, {"HEADRACE_COORDINATOR", "tcp://other:1"}};
  const auto worker = With({"worker"}, kFile);
  EXPECT_THAT(worker->words,
              ElementsAre("worker", "--allow-root=/data", "--allow-root=/more data", "--insecure"));
  EXPECT_EQ(worker->coordinator, "");
}

TEST_F(ConfigFileTest, WhatIsNoneIsNamed) {
  EXPECT_THAT(Refused("[workers]\ncache = \"1G\"\n"), HasSubstr("[workers]: no such command"));
  EXPECT_THAT(Refused("[worker]\ncahce = \"1G\"\n"), HasSubstr("[worker] cahce: no such option"));
  EXPECT_THAT(Refused("[worker]\ninsecure = \"yes\"\n"),
              HasSubstr("insecure: write true or false"));
  EXPECT_THAT(Refused("cache = \"1G\"\n"), HasSubstr("only coordinator and keys"));
}

// A section of another command is looked at, too, so that its mistakes are found before it runs.
TEST_F(ConfigFileTest, MistakesInOtherSectionsAreFound) {
  EXPECT_THAT(Refused("[jobs]\nyaml = true\n"), HasSubstr("[jobs] yaml: no such option"));
}

TEST_F(ConfigFileTest, TheFirstPlaceThatIsThereCounts) {
  const auto path = [&](Words there) {
    return ConfigPath([this](const std::string& name) { return environment_[name]; },
                      [&](const std::string& each) { return std::ranges::count(there, each) > 0; });
  };
  EXPECT_EQ(path({}), "");
  EXPECT_EQ(path({"/etc/headrace.toml"}), "/etc/headrace.toml");
  environment_["HOME"] = "/users-home/me";
  const std::string own = "/users-home/me/.config/headrace.toml";
  EXPECT_EQ(path({"/etc/headrace.toml", own}), own);
  environment_["XDG_CONFIG_HOME"] = "/x";
  EXPECT_EQ(path({"/etc/headrace.toml", own}), "/etc/headrace.toml");
  EXPECT_EQ(path({"/x/headrace.toml"}), "/x/headrace.toml");
  environment_["HEADRACE_CONFIG"] = "/named";  // an error where it is not there
  EXPECT_EQ(path({"/x/headrace.toml"}), "/named");
}

}  // namespace
}  // namespace headrace::cli
