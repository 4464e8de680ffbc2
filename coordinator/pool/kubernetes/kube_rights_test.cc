#include "coordinator/pool/kubernetes/kube_rights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/pool/kubernetes/fake_kubernetes.h"

namespace headrace::coordinator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(KubeRights, TellsTheVerbsThatLackAndNeverTheToken) {
  FakeKubernetes kubernetes;
  KubeAccess access{.server = kubernetes.url(),
                    .ca_file = kubernetes.ca_file(),
                    .token_file = kubernetes.folder() + "/token",
                    .name_space = FakeKubernetes::kNamespace};
  const auto missing = [&] { return MissingPodVerbs(access, std::chrono::seconds(20)); };
  EXPECT_THAT(missing().value(), IsEmpty());
  kubernetes.Allow({"list", "delete"});
  EXPECT_THAT(missing().value(), ElementsAre("watch", "create"));
  access.name_space = "elsewhere";
  EXPECT_THAT(missing().value(), ElementsAre("list", "watch", "create", "delete"));
  kubernetes.Write("token", "no-such-token");
  EXPECT_THAT(missing().status().message(), testing::HasSubstr("401"));
  EXPECT_THAT(missing().status().message(), testing::Not(testing::HasSubstr("no-such-token")));
  access.token_file = "/no/such/file";
  EXPECT_EQ(missing().status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace headrace::coordinator
