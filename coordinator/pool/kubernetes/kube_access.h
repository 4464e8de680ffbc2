#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headrace::coordinator {

// Where an API server of Kubernetes is, and who we are there.
struct KubeAccess {
  std::string server;  // "https://10.96.0.1:443"
  std::string ca_file;
  std::string token_file;  // empty: none, as behind `kubectl proxy`
  std::string name_space;

  // What a Pod finds: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, and the files of its service
  // account. What is given already stays. `variable`: of the environment, empty if there is none.
  // kInvalidArgument: no server is named here, it is no URL, or it is neither HTTPS nor this host.
  [[nodiscard]] static Result<KubeAccess> Find(
      KubeAccess given, const std::function<std::string(const char*)>& variable);

  // The token as the file has it now: the kubelet writes a new one each hour. kNotFound, kUnavailable:
  // it cannot be read. kInvalidArgument: it is no token. Messages have its path alone.
  [[nodiscard]] Result<std::string> ReadToken() const;

  // "/api/v1/namespaces/ml/pods" with the server before it.
  [[nodiscard]] std::string Url(std::string_view path) const { return server + std::string(path); }
  [[nodiscard]] std::string Pods(std::string_view name = "") const;
  // `kind`: "deployments"; of the group "apps".
  [[nodiscard]] std::string Apps(std::string_view kind, std::string_view name) const;
};

// Letters, digits, '-' and '.', as the names of most objects are (RFC 1123). Pure.
[[nodiscard]] bool IsKubeName(std::string_view text);

// Percent-encoded for a query. Pure.
[[nodiscard]] std::string QueryText(std::string_view text);

}  // namespace headrace::coordinator
