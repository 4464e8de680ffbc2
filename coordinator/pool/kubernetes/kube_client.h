#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "coordinator/pool/kubernetes/http_calls.h"
#include "coordinator/pool/kubernetes/kube_access.h"
#include "coordinator/pool/kubernetes/kube_reply.h"
#include "net/reactor.h"

namespace headrace::coordinator {

// Asks an API server, as who the token says. The token's file is read for each request, because the
// kubelet writes a new one there. What it says is in no log and no message. Reactor thread only.
class KubeClient {
 public:
  struct Query {
    KubeCall call;
    std::string method = "GET";
    std::string url;
    std::string body = {};
    std::string content_type = "application/json";
    Duration patience = std::chrono::seconds(30);
    std::function<void(std::string_view)> on_bytes = nullptr;  // see HttpRequest
  };
  using Done = std::function<void(const KubeVerdict&, const std::string& body)>;

  KubeClient(net::Reactor& reactor, KubeAccess access)
      : reactor_(reactor), access_(std::move(access)), calls_(reactor) {}
  KubeClient(const KubeClient&) = delete;
  KubeClient& operator=(const KubeClient&) = delete;
  ~KubeClient();

  [[nodiscard]] const KubeAccess& access() const { return access_; }

  // As HttpCalls. Numbers of calls are above 0.
  std::int64_t Start(Query query, Done done);
  void Cancel(std::int64_t call);

  // Makes the queries and waits for all, for `patience` at most: for the end of a process alone.
  struct Answer {
    KubeVerdict verdict;
    std::string body;
  };
  [[nodiscard]] std::vector<Answer> Run(const std::vector<Query>& queries, Duration patience) const;

 private:
  [[nodiscard]] HttpRequest RequestOf(const Query& query, const std::string& token) const;

  net::Reactor& reactor_;
  const KubeAccess access_;
  HttpCalls calls_;
  std::map<std::int64_t, std::int64_t> open_;     // number here -> there
  std::map<std::int64_t, net::TimerId> refused_;  // without a token; told in a turn of its own
  std::int64_t last_ = 0;
};

// What a DELETE of the Pod says: this one alone, and not another of its name. `grace_s` < 0: as the Pod
// says.
[[nodiscard]] std::string DeleteOptions(const std::string& uid, std::int64_t grace_s);

}  // namespace headrace::coordinator
