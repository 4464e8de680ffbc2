#include "coordinator/pool/kubernetes/kube_reply.h"

#include <nlohmann/json.hpp>

#include "base/plain_text.h"

namespace headrace::coordinator {
namespace {

using Kind = KubeVerdict::Kind;

constexpr std::size_t kMostSaidBytes = 400;

struct Said {
  std::string message, reason;
};

// An error's body is a Status object; of a proxy in between it may be anything.
Said ReadStatus(const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  Said said;
  if (!json.is_object()) return said;
  const auto text = [&](const char* name) {
    const auto at = json.find(name);
    return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  said.message = text("message");
  said.reason = text("reason");
  return said;
}

std::string WithoutSecret(std::string text, std::string_view secret) {
  if (secret.empty()) return text;
  for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
    text.replace(at, secret.size(), "[token]");
  }
  return text;
}

Kind KindOf(int code, const Said& said) {
  if (code / 100 == 2) return Kind::kDone;
  switch (code) {
    case 401:
    case 409:
    case 429:
    case 503:
      return Kind::kAgain;
    case 403:
      return said.message.find("exceeded quota") == std::string::npos ? Kind::kRefused
                                                                      : Kind::kNoRoom;
    case 404:
      return Kind::kMissing;
    case 410:
      return Kind::kExpired;
    default:
      return code >= 500 ? Kind::kDoubtful : Kind::kRefused;
  }
}

// The kind of trouble, for people.
Detail DetailOf(Kind kind, int code) {
  switch (kind) {
    case Kind::kNoRoom:
      return Detail::kQuota;
    case Kind::kMissing:
      return Detail::kNoPlace;
    case Kind::kDoubtful:
      return Detail::kUnreachable;
    case Kind::kAgain:
      return code == 401 ? Detail::kForbidden : code == 503 ? Detail::kUnreachable : Detail::kNone;
    case Kind::kRefused:
      return code == 403 ? Detail::kForbidden : Detail::kNone;
    case Kind::kDone:
    case Kind::kExpired:
      break;
  }
  return Detail::kNone;
}

}  // namespace

std::string_view KubeRemedy(Detail trouble) {
  if (trouble == Detail::kForbidden) {
    return "give its service account the Role of deploy/kubernetes/rbac.yaml and a valid token; "
           "`headrace doctor --kubernetes` in its Pod says what lacks";
  }
  if (trouble == Detail::kNoImage) {
    return "correct the name in --kubernetes-image, let the nodes reach its registry, or name "
           "imagePullSecrets in --kubernetes-template";
  }
  if (trouble == Detail::kNoPlace) {
    return "make the namespace, or name another one: --kubernetes-namespace";
  }
  if (trouble == Detail::kUnreachable) {
    return "let the coordinator reach the API server (--kubernetes-server, --kubernetes-ca-file); "
           "workers that run go on";
  }
  if (trouble == Detail::kWorkersFail) {
    return "read its last words and `kubectl describe pod`: keys and a network policy are common "
           "causes";
  }
  return "";
}

KubeVerdict JudgeReply(const HttpReply& reply, const KubeCall& call, std::string_view secret) {
  const std::string what = "Kubernetes: " + call.verb + " " + call.resource + ": ";
  KubeVerdict verdict;
  if (!reply.status.ok()) {
    verdict.kind = reply.may_be_heard ? Kind::kDoubtful : Kind::kAgain;
    verdict.why =
        Status(reply.status.code(),
               what + PlainText(WithoutSecret(reply.status.message(), secret), kMostSaidBytes),
               Detail::kUnreachable);
    return verdict;
  }
  const Said said = ReadStatus(reply.code / 100 == 2 ? "" : reply.body);
  verdict.kind = KindOf(reply.code, said);
  if (verdict.kind == Kind::kDone) return verdict;
  verdict.pause = reply.retry_after.value_or(Duration::zero());
  verdict.stranger = reply.code == 401;
  std::string text = what + std::to_string(reply.code);
  if (!said.reason.empty()) text += " " + said.reason;
  if (!said.message.empty()) text += ": " + said.message;
  text = PlainText(WithoutSecret(std::move(text), secret), kMostSaidBytes);
  // As the authorizer says it; a quota or an admission plugin that refuses speaks otherwise.
  const bool of_role = reply.code == 403 && said.message.find(" cannot ") != std::string::npos;
  if (of_role) {
    text +=
        "; the Role of this service account needs the verb " + call.verb + " on " + call.resource;
  } else if (verdict.stranger) {
    text += "; the token is not or no longer known there";
  }
  const Code code = verdict.kind == Kind::kNoRoom    ? Code::kResourceExhausted
                    : verdict.kind == Kind::kMissing ? Code::kNotFound
                                                     : Code::kUnavailable;
  verdict.why = Status(code, std::move(text), DetailOf(verdict.kind, reply.code));
  return verdict;
}

}  // namespace headrace::coordinator
