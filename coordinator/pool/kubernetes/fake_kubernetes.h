#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/process/child_process.h"
#include "base/settings.h"

namespace headrace::coordinator {

// Test double: an API server of Kubernetes with nodes whose Pods are processes of this host, which
// tests/support/servers/kube runs. A second there is a tenth of one here. All ends with this.
class FakeKubernetes {
 public:
  using Json = nlohmann::json;
  static constexpr char kNamespace[] = "ml";
  static constexpr char kToken[] = "token-of-the-coordinator";

  FakeKubernetes() {
    std::string name = (std::filesystem::temp_directory_path() / "fake-kube-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    Write("token", kToken);
    std::array<int, 2> orders{}, answers{};
    EXPECT_EQ(::pipe2(orders.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(answers.data(), O_CLOEXEC), 0);
    std::vector<std::string> environment = {"PYTHONPATH=" HEADRACE_SOURCE_DIR "/tests"};
    for (char** variable = environ; *variable != nullptr; ++variable) {
      environment.emplace_back(*variable);
    }
    SpawnOptions spawn;
    spawn.command = {"/usr/bin/python3", "-m",      "support.servers.kube",
                     folder_.string(),   "--scale", "0.1"};
    spawn.environment = std::move(environment);
    spawn.descriptors = {{orders[0], 0}, {answers[1], 1}};
    auto started = ChildProcess::Start(spawn);
    EXPECT_TRUE(started.ok()) << started.status().ToString();
    server_ = std::move(started).value();
    ::close(orders[0]);
    ::close(answers[1]);
    orders_ = ::fdopen(orders[1], "w");
    answers_ = ::fdopen(answers[0], "r");
    const Json place = ReadLine();
    port_ = place.value("port", 0);
    ca_file_ = place.value("ca_file", "");
    Allow({"get", "list", "watch", "create", "delete"});
    Do("image", {{"name", "headrace-worker"}, {"program", "sh"}});
    Do("node", {{"name", "n1"}, {"cores", 64}});
  }
  FakeKubernetes(const FakeKubernetes&) = delete;
  FakeKubernetes& operator=(const FakeKubernetes&) = delete;
  ~FakeKubernetes() {
    std::fclose(orders_);
    std::fclose(answers_);
    EXPECT_TRUE(server_.AwaitEnd(std::chrono::seconds(20)));
    server_.Kill();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  // The value of an order of tests/support/servers/kube/__main__.py.
  Json Do(const std::string& order, Json fields = Json::object()) {
    fields["do"] = order;
    const std::string line = fields.dump() + "\n";
    EXPECT_GE(std::fputs(line.c_str(), orders_), 0);
    std::fflush(orders_);
    const Json answer = ReadLine();
    EXPECT_TRUE(answer.value("ok", false)) << line << answer.dump();
    return answer.contains("value") ? answer["value"] : Json();
  }

  // The coordinator may do this with Pods, and no more.
  void Allow(const std::vector<std::string>& verbs) {
    AllowRules(Json::array({Rule("", "pods", verbs)}));
  }
  // One of a Role.
  static Json Rule(const std::string& group, const std::string& resource,
                   const std::vector<std::string>& verbs) {
    Json rule;
    rule["apiGroups"] = Json::array({group});
    rule["resources"] = Json::array({resource});
    rule["verbs"] = verbs;
    return rule;
  }
  void AllowRules(const Json& rules, const std::string& token = kToken) {
    Do("account",
       {{"name", "coordinator"}, {"namespace", kNamespace}, {"token", token}, {"rules", rules}});
  }
  void Fault(const std::string& verb, const std::string& how, int code = 500, int times = 1,
             const Json& more = Json::object()) {
    Json fields = {
        {"verb", verb}, {"resource", "pods"}, {"how", how}, {"code", code}, {"times", times}};
    fields.update(more);
    Do("fault", fields);
  }
  [[nodiscard]] Json Pods() { return Do("pods", {{"namespace", kNamespace}}); }
  // How often there was such a call: "create pods".
  [[nodiscard]] int Calls(const std::string& call) {
    int count = 0;
    for (const Json& each : Do("calls")) count += each == call ? 1 : 0;
    return count;
  }

  // Settings of a pool that is at home here.
  [[nodiscard]] GivenSettings Settings() const {
    return {{"server", url()},
            {"ca-file", ca_file_},
            {"token-file", (folder_ / "token").string()},
            {"namespace", kNamespace},
            {"image", "headrace-worker"}};
  }
  [[nodiscard]] std::string url() const { return "https://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] const std::string& ca_file() const { return ca_file_; }
  void Write(const std::string& file, const std::string& text) const {
    std::ofstream(folder_ / file) << text;
  }
  [[nodiscard]] std::string folder() const { return folder_.string(); }

 private:
  Json ReadLine() {
    std::string line;
    for (int c = std::fgetc(answers_); c != EOF && c != '\n'; c = std::fgetc(answers_)) {
      line += static_cast<char>(c);
    }
    Json answer = Json::parse(line, nullptr, false);
    EXPECT_TRUE(answer.is_object()) << "the server says: " << line;
    return answer.is_object() ? answer : Json::object();
  }

  std::filesystem::path folder_;
  ChildProcess server_;
  std::FILE* orders_ = nullptr;
  std::FILE* answers_ = nullptr;
  int port_ = 0;
  std::string ca_file_;
};

}  // namespace headrace::coordinator
