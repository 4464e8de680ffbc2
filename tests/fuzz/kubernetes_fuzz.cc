#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "coordinator/pool/kubernetes/kube_reply.h"
#include "coordinator/pool/kubernetes/pod_manifest.h"
#include "coordinator/pool/kubernetes/pod_seen.h"
#include "coordinator/pool/kubernetes/scale_pool.h"

// What an API server of Kubernetes answers, or a proxy in between, and a Pod template of the user's. The
// first byte chooses. What is made of a template never starts again. Seeds:
// tests/fuzz/seeds/kubernetes_fuzz.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headrace::coordinator;  // NOLINT(google-build-using-namespace)
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 6) {
    case 0:
      (void)ReadPodList(text);
      break;
    case 1: {
      LineCutter cutter;
      if (!cutter.Add(text)) break;
      for (std::string line; cutter.Next(line);) (void)ReadPodEvent(line);
      break;
    }
    case 2: {
      HttpReply reply;
      reply.code = 403;
      reply.body = text;
      const KubeVerdict verdict = JudgeReply(reply, {"create", "pods"}, "s3cret");
      if (verdict.why.message().find("s3cret") != std::string::npos) std::abort();
      break;
    }
    case 3:
      (void)ScaleSeen::Read(text);
      break;
    case 4:
      (void)ReadUid(text);
      break;
    default: {
      PodWishes wishes;
      wishes.pod_template = text;
      wishes.image = "i";
      wishes.keys_secret = "k";
      wishes.labels = {{"a", "b"}};
      wishes.annotations = {{"c", "d"}};
      wishes.node_selector = {{"e", "f"}};
      wishes.tolerations = {{"g", "", ""}};
      const auto pod =
          WorkerPod(wishes, {"p", 1}, {"headrace", "worker"}, PodOwner{"v1", "Pod", "n", "u"}, 1);
      if (pod.ok() && pod->find("\"restartPolicy\":\"Never\"") == std::string::npos) std::abort();
      break;
    }
  }
  return 0;
}
