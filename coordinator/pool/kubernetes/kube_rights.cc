#include "coordinator/pool/kubernetes/kube_rights.h"

#include <array>
#include <nlohmann/json.hpp>

#include "coordinator/pool/kubernetes/http_calls.h"
#include "coordinator/pool/kubernetes/kube_reply.h"

namespace headrace::coordinator {
namespace {

constexpr std::array<const char*, 4> kPodVerbs = {"list", "watch", "create", "delete"};

HttpRequest ReviewOf(const KubeAccess& access, const std::string& token, const char* verb) {
  const nlohmann::ordered_json review = {
      {"apiVersion", "authorization.k8s.io/v1"},
      {"kind", "SelfSubjectAccessReview"},
      {"spec",
       {{"resourceAttributes",
         {{"namespace", access.name_space}, {"verb", verb}, {"resource", "pods"}}}}}};
  HttpRequest request{.method = "POST",
                      .url = access.Url("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
                      .headers = {"Accept: application/json", "Content-Type: application/json"},
                      .body = review.dump(),
                      .ca_file = access.ca_file};
  if (!token.empty()) request.headers.push_back("Authorization: Bearer " + token);
  return request;
}

}  // namespace

Result<std::vector<std::string>> MissingPodVerbs(const KubeAccess& access, Duration patience) {
  HR_TRY(const std::string token, access.ReadToken());
  std::vector<HttpRequest> requests;
  for (const char* verb : kPodVerbs) requests.push_back(ReviewOf(access, token, verb));
  const std::vector<HttpReply> replies = HttpCalls::Run(requests, patience);
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const KubeVerdict verdict =
        JudgeReply(replies[i], {"create", "selfsubjectaccessreviews"}, token);
    if (verdict.kind != KubeVerdict::Kind::kDone) return verdict.why;
    const auto said = nlohmann::json::parse(replies[i].body, nullptr, false);
    const nlohmann::json::json_pointer allowed("/status/allowed");
    const bool is_said = said.is_object() && said.contains(allowed) && said[allowed].is_boolean();
    if (!is_said) return Unavailable("Kubernetes: its answer is no review of rights");
    if (!said[allowed].get<bool>()) missing.emplace_back(kPodVerbs[i]);
  }
  return missing;
}

}  // namespace headrace::coordinator
