#include "remote/options.h"

#include <gtest/gtest.h>

#include <map>

namespace headrace::remote {
namespace {

Result<ClientOptions> Options(std::map<std::string, std::string> variables) {
  return OptionsOfProcess({"given"}, {[&](const char* name) {
                                        const auto at = variables.find(name);
                                        return at == variables.end()
                                                   ? std::nullopt
                                                   : std::optional<std::string>(at->second);
                                      },
                                      [](const std::string&) { return std::nullopt; }});
}

TEST(Options, TheEnvironmentOfTheOperatorNamesEndpoints) {
  const Result<ClientOptions> options = Options({{"HEADRACE_ALLOW_ENDPOINTS", "one,two:9000,"},
                                                 {"AWS_ENDPOINT_URL", "http://three:80/"},
                                                 {"AWS_CA_BUNDLE", "/ca.pem"}});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  for (const char* url : {"http://given/", "https://one/", "http://two:9000/", "http://three/"}) {
    EXPECT_TRUE(options->rules.Names(*ObjectUrl::Parse(url))) << url;
  }
  EXPECT_FALSE(options->rules.Names(*ObjectUrl::Parse("http://two/")));
  EXPECT_EQ(options->ca_file, "/ca.pem");
  EXPECT_FALSE(Options({{"HEADRACE_ALLOW_ENDPOINTS", "one two"}}).ok());
}

}  // namespace
}  // namespace headrace::remote
