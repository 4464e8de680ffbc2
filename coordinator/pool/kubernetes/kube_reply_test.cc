#include "coordinator/pool/kubernetes/kube_reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::coordinator {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Verdict = KubeVerdict::Kind;

KubeVerdict JudgeCode(int code, const std::string& message = "", const std::string& reason = "") {
  HttpReply reply;
  reply.code = code;
  reply.may_be_heard = true;
  reply.body = R"({"kind":"Status","message":")" + message + R"(","reason":")" + reason + "\"}";
  return JudgeReply(reply, {"create", "pods"}, "s3cret");
}

TEST(KubeReply, EachCodeHasItsConsequence) {
  EXPECT_EQ(JudgeCode(200).kind, Verdict::kDone);
  EXPECT_EQ(JudgeCode(201).kind, Verdict::kDone);
  EXPECT_EQ(JudgeCode(404).kind, Verdict::kMissing);
  EXPECT_EQ(JudgeCode(410).kind, Verdict::kExpired);
  for (const int code : {401, 409, 429, 503}) EXPECT_EQ(JudgeCode(code).kind, Verdict::kAgain);
  for (const int code : {400, 403, 405, 415, 422}) {
    EXPECT_EQ(JudgeCode(code).kind, Verdict::kRefused) << code;
  }
  for (const int code : {500, 502, 504}) EXPECT_EQ(JudgeCode(code).kind, Verdict::kDoubtful);
  EXPECT_EQ(JudgeCode(302).kind, Verdict::kRefused) << "a redirect is not followed";
}

TEST(KubeReply, ALimitIsToldFromWhatIsForbiddenAndTheVerbIsNamed) {
  const KubeVerdict quota = JudgeCode(403, "pods is forbidden: exceeded quota: q", "Forbidden");
  EXPECT_EQ(quota.kind, Verdict::kNoRoom);
  EXPECT_EQ(quota.why.code(), Code::kResourceExhausted);
  const KubeVerdict role =
      JudgeCode(403, "pods is forbidden: User x cannot create resource pods", "Forbidden");
  EXPECT_EQ(role.kind, Verdict::kRefused);
  EXPECT_THAT(role.why.message(),
              AllOf(HasSubstr("Kubernetes: create pods: 403 Forbidden: pods is forbidden"),
                    HasSubstr("needs the verb create on pods")));
  EXPECT_THAT(JudgeCode(403, "denied by the webhook").why.message(),
              Not(HasSubstr("needs the verb")));
}

TEST(KubeReply, ARefusalHasItsKind) {
  const auto kind_of = [](int code, const std::string& message = "") {
    return JudgeCode(code, message).why.detail();
  };
  EXPECT_EQ(kind_of(403, "pods is forbidden: exceeded quota: q"), Detail::kQuota);
  EXPECT_EQ(kind_of(403, "User x cannot create resource pods"), Detail::kForbidden);
  EXPECT_EQ(kind_of(403, "violates PodSecurity"), Detail::kForbidden);
  EXPECT_EQ(kind_of(401), Detail::kForbidden);
  EXPECT_EQ(kind_of(404, "namespaces x not found"), Detail::kNoPlace);
  for (const int code : {500, 502, 503, 504})
    EXPECT_EQ(kind_of(code), Detail::kUnreachable) << code;
  for (const int code : {409, 410, 422, 429}) EXPECT_EQ(kind_of(code), Detail::kNone) << code;
  HttpReply reply;
  reply.status = Unavailable("connection refused");
  EXPECT_EQ(JudgeReply(reply, {"create", "pods"}, "").why.detail(), Detail::kUnreachable);
}

TEST(KubeReply, WhatBrokeIsDoubtfulOnceItMayHaveBeenHeard) {
  HttpReply reply;
  reply.status = Unavailable("connection refused");
  EXPECT_EQ(JudgeReply(reply, {"create", "pods"}, "").kind, Verdict::kAgain);
  reply.may_be_heard = true;
  EXPECT_EQ(JudgeReply(reply, {"create", "pods"}, "").kind, Verdict::kDoubtful);
}

TEST(KubeReply, TheServersPauseIsKept) {
  HttpReply reply;
  reply.code = 429;
  reply.retry_after = std::chrono::seconds(7);
  const KubeVerdict verdict = JudgeReply(reply, {"list", "pods"}, "");
  EXPECT_EQ(verdict.pause, std::chrono::seconds(7));
  EXPECT_FALSE(verdict.stranger);
  EXPECT_TRUE(JudgeCode(401).stranger);
}

TEST(KubeReply, NoMessageHoldsTheTokenOrMoreThanALine) {
  const KubeVerdict echo = JudgeCode(403, "you are Bearer s3cret, s3cret", "Forbidden");
  EXPECT_THAT(echo.why.message(), AllOf(Not(HasSubstr("s3cret")), HasSubstr("[token]")));
  HttpReply reply;
  reply.status = Unavailable("no route with s3cret\nnext");
  EXPECT_THAT(JudgeReply(reply, {"list", "pods"}, "s3cret").why.message(),
              AllOf(Not(HasSubstr("s3cret")), Not(HasSubstr("\n"))));
  EXPECT_LT(JudgeCode(422, std::string(10'000, 'x')).why.message().size(), 600U);
}

TEST(KubeReply, ABodyThatIsNoStatusIsNoReasonToFail) {
  for (const char* body : {"", "<html>", "[]", "{\"message\": 7}", "{\"message\""}) {
    HttpReply reply;
    reply.code = 500;
    reply.body = body;
    EXPECT_EQ(JudgeReply(reply, {"create", "pods"}, "").why.message(),
              "Kubernetes: create pods: 500")
        << body;
  }
}

}  // namespace
}  // namespace headrace::coordinator
