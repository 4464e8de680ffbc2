#include "coordinator/pool/kubernetes/pod_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace headrace::coordinator {
namespace {

using testing::HasSubstr;
using PodText = nlohmann::json;

PodWishes WorkerWishes() {
  PodWishes wishes;
  wishes.image = "registry.site/headrace-worker:1";
  wishes.keys_secret = "pool-keys";
  wishes.priority_class = "low";
  wishes.node_selector = {{"pool", "cpu"}};
  wishes.labels = {{"kueue.x-k8s.io/queue-name", "vision"}, {"headrace.io/pool", "stolen"}};
  wishes.annotations = {{"team", "vision"}};
  wishes.tolerations = {{"spot", "true", "NoSchedule"}, {"cpu", "", ""}};
  wishes.cores = wishes.most_cores = 8;
  wishes.memory_bytes = wishes.most_memory_bytes = std::uint64_t{16} << 30;
  wishes.cache_bytes = std::uint64_t{8} << 30;
  wishes.grace_s = 60;
  return wishes;
}

PodText Made(const PodWishes& wishes, const std::optional<PodOwner>& owner = std::nullopt) {
  const auto pod =
      WorkerPod(wishes, {"headrace-head-7070", 1700},
                {"/usr/bin/headrace", "worker", "--coordinator", "tcp://head:7070"}, owner, 3);
  EXPECT_TRUE(pod.ok()) << pod.status().ToString();
  return pod.ok() ? PodText::parse(*pod) : PodText();
}

TEST(PodManifest, APodSaysAllThatTheUserWants) {
  const PodText pod = Made(WorkerWishes(), PodOwner{"apps/v1", "StatefulSet", "headrace", "u-1"});
  const PodText& metadata = pod["metadata"];
  EXPECT_EQ(metadata["generateName"], "headrace-head-7070-");
  EXPECT_EQ(metadata["labels"]["headrace.io/pool"], "headrace-head-7070") << "ours wins";
  EXPECT_EQ(metadata["labels"]["headrace.io/epoch"], "1700");
  EXPECT_EQ(metadata["labels"]["headrace.io/start"], "3");
  EXPECT_EQ(metadata["labels"]["kueue.x-k8s.io/queue-name"], "vision");
  EXPECT_EQ(metadata["annotations"]["team"], "vision");
  EXPECT_EQ(metadata["ownerReferences"][0]["uid"], "u-1");
  EXPECT_FALSE(metadata["ownerReferences"][0].contains("blockOwnerDeletion"))
      << "that would need another verb";
  const PodText& spec = pod["spec"];
  EXPECT_EQ(spec["restartPolicy"], "Never");
  EXPECT_EQ(spec["terminationGracePeriodSeconds"], 60);
  EXPECT_EQ(spec["priorityClassName"], "low");
  EXPECT_EQ(spec["nodeSelector"]["pool"], "cpu");
  EXPECT_EQ(spec["tolerations"],
            PodText::parse(R"([{"key": "spot", "operator": "Equal", "value": "true",
                                "effect": "NoSchedule"}, {"key": "cpu", "operator": "Exists"}])"));
  EXPECT_EQ(spec["automountServiceAccountToken"], false);
  const PodText& container = spec["containers"][0];
  EXPECT_EQ(container["image"], "registry.site/headrace-worker:1");
  EXPECT_FALSE(container.contains("command")) << "the image's entry point";
  EXPECT_EQ(container["args"],
            PodText({"worker", "--coordinator", "tcp://head:7070", "--threads", "8", "--cache",
                     "8589934592", "--memory", "16106127360", "--pool-member", "$(POD_NAME)"}));
  EXPECT_EQ(container["resources"]["requests"], container["resources"]["limits"]);
  EXPECT_EQ(container["resources"]["limits"]["cpu"], "8");
  EXPECT_EQ(container["terminationMessagePolicy"], "FallbackToLogsOnError");
  EXPECT_EQ(container["securityContext"]["readOnlyRootFilesystem"], true);
  EXPECT_EQ(container["securityContext"]["capabilities"]["drop"], PodText::array({"ALL"}));
}

TEST(PodManifest, KeysComeFromASecretAndByTheirFolderAlone) {
  const PodText pod = Made(WorkerWishes());
  EXPECT_EQ(pod["spec"]["volumes"][0]["secret"]["secretName"], "pool-keys");
  EXPECT_EQ(pod["spec"]["volumes"][0]["secret"]["defaultMode"], 0440);
  const PodText& container = pod["spec"]["containers"][0];
  EXPECT_EQ(container["volumeMounts"][0]["mountPath"], "/etc/headrace/keys");
  EXPECT_EQ(container["env"][1]["name"], "HEADRACE_KEYS");
  EXPECT_EQ(container["env"][1]["value"], "/etc/headrace/keys");
}

TEST(PodManifest, AnArgumentIsNoVariable) {
  PodWishes wishes = WorkerWishes();
  const auto pod = WorkerPod(wishes, {"p", 1}, {"headrace", "--name", "a$(HOME)b$c"}, {}, 1);
  ASSERT_TRUE(pod.ok());
  EXPECT_EQ(PodText::parse(*pod)["spec"]["containers"][0]["args"][1], "a$$(HOME)b$c");
}

TEST(PodManifest, ATemplateIsKeptButForWhatIsThePools) {
  PodWishes wishes = WorkerWishes();
  wishes.keys_secret.clear();
  wishes.pod_template = R"({
    "kind": "Deployment",
    "metadata": {"name": "mine", "labels": {"a": "b"}},
    "spec": {
      "restartPolicy": "Always", "dnsPolicy": "None", "securityContext": {"runAsUser": 7},
      "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "images"}}],
      "containers": [
        {"name": "side", "image": "s"},
        {"name": "worker", "image": "theirs", "args": ["x"],
         "env": [{"name": "A", "value": "1"}], "securityContext": {},
         "resources": {"limits": {"gpu.site/one": 1, "cpu": "99"}},
         "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]}})";
  const PodText pod = Made(wishes);
  EXPECT_EQ(pod["kind"], "Pod");
  EXPECT_FALSE(pod["metadata"].contains("name"));
  EXPECT_EQ(pod["metadata"]["labels"]["a"], "b");
  EXPECT_EQ(pod["spec"]["restartPolicy"], "Never");
  EXPECT_EQ(pod["spec"]["dnsPolicy"], "None");
  EXPECT_EQ(pod["spec"]["securityContext"]["runAsUser"], 7);
  EXPECT_EQ(pod["spec"]["volumes"].size(), 1U) << "no /tmp where the root may be written";
  EXPECT_EQ(pod["spec"]["containers"][0]["image"], "s");
  const PodText& container = pod["spec"]["containers"][1];
  EXPECT_EQ(container["image"], wishes.image);
  EXPECT_EQ(container["args"][0], "worker");
  EXPECT_EQ(container["env"].size(), 2U);
  EXPECT_EQ(container["resources"]["limits"]["gpu.site/one"], 1);
  EXPECT_EQ(container["resources"]["limits"]["cpu"], "8");
  wishes.image.clear();
  EXPECT_EQ(Made(wishes)["spec"]["containers"][1]["image"], "theirs");
}

TEST(PodManifest, ATemplateThatIsNoPodIsAnError) {
  PodWishes wishes = WorkerWishes();
  for (const char* text :
       {"[]", "x", R"({"spec": []})", R"({"metadata": 1})", R"({"metadata": {"labels": []}})",
        R"({"spec": {"containers": {}}})", R"({"spec": {"containers": [7]}})",
        R"({"spec": {"volumes": 1}})", R"({"spec": {"containers": [{"env": {}}]}})",
        R"({"spec": {"containers": [{"resources": []}]}})",
        R"({"spec": {"containers": [{"resources": {"limits": "x"}}]}})",
        R"({"metadata": {"ownerReferences": {}}})", R"({"spec": {"nodeSelector": ["x"]}})"}) {
    wishes.pod_template = text;
    const auto pod = WorkerPod(wishes, {"p", 1}, {"headrace"}, PodOwner{"v1", "Pod", "a", "b"}, 1);
    EXPECT_EQ(pod.status().code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(pod.status().message(), HasSubstr("template")) << text;
  }
  wishes.pod_template = "{}";
  wishes.image.clear();
  EXPECT_THAT(WorkerPod(wishes, {"p", 1}, {"headrace"}, {}, 1).status().message(),
              HasSubstr("--kubernetes-image"));
}

TEST(PodManifest, APoolsNameIsALabel) {
  EXPECT_EQ(PoolLabel("headrace-head.site-7070"), "headrace-head.site-7070");
  EXPECT_EQ(PoolLabel("headrace-/tmp/x"), "headrace--tmp-x");
  const std::string base(80, 'a');
  EXPECT_EQ(PoolLabel(base + "1").size(), 63U);
  EXPECT_NE(PoolLabel(base + "1"), PoolLabel(base + "2"));
  EXPECT_EQ(PoolLabel("headrace-x-"), "headrace-xe");
  PodWishes wishes = WorkerWishes();
  const auto pod = WorkerPod(wishes, {"Headrace-A.b_c", 1}, {"headrace"}, {}, 1);
  EXPECT_EQ(PodText::parse(*pod)["metadata"]["generateName"], "headrace-a-b-c-");
}

TEST(PodManifest, PairsAndTolerationsAsKubectlWritesThem) {
  EXPECT_THAT(*ReadPairs("a=1,b=x=y,c=", "--o"),
              testing::ElementsAre(testing::Pair("a", "1"), testing::Pair("b", "x=y"),
                                   testing::Pair("c", "")));
  EXPECT_TRUE(ReadPairs("", "--o")->empty());
  for (const char* text : {"a", "=1", "a=1,,b=2", ","}) {
    EXPECT_THAT(ReadPairs(text, "--o").status().message(), HasSubstr("--o is NAME=VALUE")) << text;
  }
  const auto tolerations = ReadTolerations("spot=yes:NoSchedule,gone:NoExecute,any");
  ASSERT_TRUE(tolerations.ok());
  ASSERT_EQ(tolerations->size(), 3U);
  EXPECT_EQ((*tolerations)[0].value, "yes");
  EXPECT_EQ((*tolerations)[1].effect, "NoExecute");
  EXPECT_EQ((*tolerations)[2].key, "any");
  for (const char* text : {"a:Never", ":NoSchedule", "=1", ","}) {
    EXPECT_EQ(ReadTolerations(text).status().code(), Code::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace headrace::coordinator
