#include "coordinator/pool/kubernetes/kube_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace headrace::coordinator {
namespace {

using testing::HasSubstr;

std::function<std::string(const char*)> Variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string() : found->second;
  };
}

TEST(KubeAccess, APodFindsItsServerByItself) {
  const auto access = KubeAccess::Find({}, Variables({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                                                      {"KUBERNETES_SERVICE_PORT", "443"}}));
  ASSERT_TRUE(access.ok());
  EXPECT_EQ(access->server, "https://10.96.0.1:443");
  EXPECT_THAT(access->ca_file, HasSubstr("serviceaccount/ca.crt"));
  EXPECT_THAT(access->token_file, HasSubstr("serviceaccount/token"));
  EXPECT_EQ(access->name_space, "default");
  EXPECT_EQ(KubeAccess::Find({}, Variables({{"KUBERNETES_SERVICE_HOST", "fd00::1"},
                                            {"KUBERNETES_SERVICE_PORT", "443"}}))
                ->server,
            "https://[fd00::1]:443");
}

TEST(KubeAccess, WhatIsGivenStaysAndTellsNothingOfThePod) {
  const auto access = KubeAccess::Find(
      {.server = "https://k8s.site:6443/", .ca_file = "/ca", .name_space = "ml"}, Variables({}));
  ASSERT_TRUE(access.ok());
  EXPECT_EQ(access->Pods(), "https://k8s.site:6443/api/v1/namespaces/ml/pods");
  EXPECT_EQ(access->Pods("w-1"), "https://k8s.site:6443/api/v1/namespaces/ml/pods/w-1");
  EXPECT_EQ(access->Apps("deployments", "w"),
            "https://k8s.site:6443/apis/apps/v1/namespaces/ml/deployments/w");
  EXPECT_EQ(access->token_file, "");
}

TEST(KubeAccess, ATokenGoesOverTlsOrStaysOnThisHost) {
  for (const char* server :
       {"http://k8s.site:6443", "http://127.0.0.1.evil:80", "http://localhost.evil", "k8s.site",
        "https://user:password@k8s.site", "https://a b", "ftp://127.0.0.1"}) {
    EXPECT_EQ(KubeAccess::Find({.server = server}, Variables({})).status().code(),
              Code::kInvalidArgument)
        << server;
  }
  EXPECT_TRUE(KubeAccess::Find({.server = "http://127.0.0.1:8001"}, Variables({})).ok());
  EXPECT_THAT(KubeAccess::Find({}, Variables({})).status().message(),
              HasSubstr("--kubernetes-server"));
  EXPECT_FALSE(
      KubeAccess::Find({.server = "https://x", .name_space = "../kube-system"}, Variables({}))
          .ok());
}

TEST(KubeAccess, ATokenIsOneWordAndIsReadAgain) {
  const std::string path = testing::TempDir() + "/kube-token";
  std::filesystem::remove(path);
  KubeAccess access;
  access.token_file = path;
  EXPECT_EQ(access.ReadToken().status().code(), Code::kNotFound);
  std::ofstream(path) << "first\n";
  EXPECT_EQ(*access.ReadToken(), "first");
  std::ofstream(path) << "second";
  EXPECT_EQ(*access.ReadToken(), "second");
  for (const char* text : {"", "\n", "two words", "a\r\nX-Evil: 1"}) {
    std::ofstream(path) << text;
    const Status status = access.ReadToken().status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_EQ(status.message(), path + " holds no token");
  }
  std::ofstream(path) << std::string(100'000, 'x');
  EXPECT_FALSE(access.ReadToken().ok());
  EXPECT_EQ(*KubeAccess().ReadToken(), "") << "none is needed behind kubectl proxy";
}

TEST(KubeAccess, NamesAndQueries) {
  EXPECT_TRUE(IsKubeName("headrace-head-7070-x2bcd"));
  for (const char* text : {"", "Upper", "-a", "a-", "a/b", "a_b", "a b", "..\n"}) {
    EXPECT_FALSE(IsKubeName(text)) << text;
  }
  EXPECT_EQ(QueryText("headrace.io/pool=a b"), "headrace.io%2Fpool%3Da%20b");
}

}  // namespace
}  // namespace headrace::coordinator
