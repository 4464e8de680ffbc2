#include "coordinator/pool/kubernetes/kube_client.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace headrace::coordinator {
namespace {

KubeVerdict NoToken(const Status& why) {
  KubeVerdict verdict;
  verdict.kind = KubeVerdict::Kind::kAgain;
  verdict.why = why.WithContext("the token for Kubernetes");
  verdict.stranger = true;
  return verdict;
}

}  // namespace

KubeClient::~KubeClient() {
  for (const auto& [number, timer] : refused_) reactor_.CancelTimer(timer);
}

HttpRequest KubeClient::RequestOf(const Query& query, const std::string& token) const {
  HttpRequest request{.method = query.method,
                      .url = query.url,
                      .headers = {"Accept: application/json"},
                      .body = query.body,
                      .ca_file = access_.ca_file,
                      .patience = query.patience,
                      .on_bytes = query.on_bytes};
  if (!token.empty()) request.headers.push_back("Authorization: Bearer " + token);
  if (!query.body.empty()) request.headers.push_back("Content-Type: " + query.content_type);
  return request;
}

std::int64_t KubeClient::Start(Query query, Done done) {
  const std::int64_t number = ++last_;
  Result<std::string> token = access_.ReadToken();
  if (!token.ok()) {
    refused_[number] = reactor_.AddOnce(
        Duration::zero(), [this, number, done = std::move(done), why = token.status()] {
          refused_.erase(number);
          done(NoToken(why), "");
        });
    return number;
  }
  open_[number] =
      calls_.Start(RequestOf(query, *token), [this, number, call = query.call, token = *token,
                                              done = std::move(done)](const HttpReply& reply) {
        open_.erase(number);
        done(JudgeReply(reply, call, token), reply.body);
      });
  return number;
}

void KubeClient::Cancel(std::int64_t call) {
  if (const auto open = open_.find(call); open != open_.end()) {
    calls_.Cancel(open->second);
    open_.erase(open);
  }
  if (const auto refused = refused_.find(call); refused != refused_.end()) {
    reactor_.CancelTimer(refused->second);
    refused_.erase(refused);
  }
}

std::vector<KubeClient::Answer> KubeClient::Run(const std::vector<Query>& queries,
                                                Duration patience) const {
  std::vector<Answer> answers;
  const Result<std::string> token = access_.ReadToken();
  if (!token.ok()) {
    answers.resize(queries.size(), {NoToken(token.status()), ""});
    return answers;
  }
  std::vector<HttpRequest> requests;
  for (const Query& query : queries) requests.push_back(RequestOf(query, *token));
  std::vector<HttpReply> replies = HttpCalls::Run(requests, patience);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    KubeVerdict verdict = JudgeReply(replies[i], queries[i].call, *token);
    answers.push_back({std::move(verdict), std::move(replies[i].body)});
  }
  return answers;
}

std::string DeleteOptions(const std::string& uid, std::int64_t grace_s) {
  nlohmann::ordered_json options = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (grace_s >= 0) options["gracePeriodSeconds"] = grace_s;
  if (!uid.empty()) options["preconditions"]["uid"] = uid;
  return options.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace headrace::coordinator
