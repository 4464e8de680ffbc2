#include "coordinator/pool/kubernetes/pod_seen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::coordinator {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Phase = PodSeen::Phase;

constexpr char kRunningPod[] = R"({
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {"name": "w-1", "uid": "u1", "resourceVersion": "7",
    "labels": {"headrace.io/pool": "p", "headrace.io/epoch": "1700", "headrace.io/start": "3"}},
  "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}})";

PodSeen Read(const std::string& status, const std::string& metadata = "") {
  const auto pod =
      ReadPod(R"({"metadata": {"name": "w-1")" + metadata + R"(}, "status": )" + status + "}");
  EXPECT_TRUE(pod.ok()) << pod.status().ToString();
  return pod.ok() ? *pod : PodSeen();
}

TEST(PodSeen, APodIsReadAsFarAsItIsNeeded) {
  const auto pod = ReadPod(kRunningPod);
  ASSERT_TRUE(pod.ok());
  EXPECT_EQ(pod->name, "w-1");
  EXPECT_EQ(pod->uid, "u1");
  EXPECT_EQ(pod->phase, Phase::kRunning);
  EXPECT_EQ(pod->node, "n1");
  EXPECT_EQ(pod->epoch, 1700);
  EXPECT_EQ(pod->start, 3);
  EXPECT_FALSE(pod->deleting);
  EXPECT_TRUE(Read("{}", R"(, "deletionTimestamp": "2026-01-01T00:00:00Z")").deleting);
}

TEST(PodSeen, ItsReasonIsTheEnginesWord) {
  EXPECT_EQ(Read(R"({"phase": "Pending", "conditions": [
              {"type": "Ready", "status": "False", "reason": "No"},
              {"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
               "message": "0/3 nodes are available: 3 Insufficient cpu."}]})")
                .reason,
            "Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.");
  EXPECT_EQ(Read(R"({"phase": "Pending", "containerStatuses": [
              {"state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}}]})")
                .reason,
            "ErrImagePull: not found");
  EXPECT_EQ(Read(R"({"phase": "Failed", "containerStatuses": [
              {"state": {"terminated": {"reason": "Error", "exitCode": 1,
               "message": "no key\nfor this role"}}}]})")
                .reason,
            "Error, exit code 1: no key\\x0afor this role");
  EXPECT_EQ(Read(R"({"phase": "Failed", "reason": "Evicted", "message": "low on memory"})").reason,
            "Evicted: low on memory");
}

TEST(PodSeen, WhatAPodWaitsForHasItsKind) {
  const auto waiting = [](const std::string& reason) {
    return Read(R"({"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": ")" +
                reason + R"(", "message": "m"}}}]})")
        .why;
  };
  for (const char* reason : {"ErrImagePull", "ImagePullBackOff", "InvalidImageName"}) {
    EXPECT_EQ(waiting(reason), Detail::kNoImage) << reason;
  }
  EXPECT_EQ(waiting("CreateContainerConfigError"), Detail::kWorkersFail) << "no Secret, say";
  EXPECT_EQ(waiting("ContainerCreating"), Detail::kNone);
  const auto condition = [](const std::string& reason) {
    return Read(R"({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
                    "reason": ")" +
                reason + R"(", "message": "0/3 nodes"}]})")
        .why;
  };
  EXPECT_EQ(condition("Unschedulable"), Detail::kNoRoom);
  EXPECT_EQ(condition("SchedulingGated"), Detail::kNoRoom);
  EXPECT_EQ(Read(R"({"phase": "Running"})").why, Detail::kNone);
}

TEST(PodSeen, APhaseOfALaterReleaseRuns) {
  EXPECT_EQ(Read("{}").phase, Phase::kPending);
  EXPECT_EQ(Read(R"({"phase": "Succeeded"})").phase, Phase::kEnded);
  EXPECT_EQ(Read(R"({"phase": "Levitating"})").phase, Phase::kRunning);
}

TEST(PodSeen, WhatIsOfAnotherTypeIsMissing) {
  const auto pod = ReadPod(
      R"({"metadata": {"name": "w-1", "labels": ["x"], "deletionTimestamp": 7}, "spec": "x",
          "status": {"phase": 3, "conditions": {"a": "b"}, "containerStatuses": [7, null, []]}})");
  ASSERT_TRUE(pod.ok());
  EXPECT_EQ(pod->phase, Phase::kPending);
  EXPECT_EQ(pod->epoch, 0);
  for (const char* text : {"", "{", "7", "null", "{}", R"({"metadata": {"name": 7}})"}) {
    EXPECT_EQ(ReadPod(text).status().code(), Code::kUnavailable) << text;
  }
}

TEST(PodSeen, AListIsBelievedWholeOrNotAtAll) {
  const std::string pod = kRunningPod;
  const auto list =
      ReadPodList(R"({"metadata": {"resourceVersion": "90"}, "items": [)" + pod + "]}");
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->version, "90");
  EXPECT_THAT(list->pods, SizeIs(1));
  EXPECT_THAT(ReadPodList(R"({"metadata": {"resourceVersion": "9"}, "items": null})")->pods,
              IsEmpty());
  for (const char* text :
       {"", "[]", R"({"items": []})", R"({"metadata": {"resourceVersion": "9"}, "items": {}})",
        R"({"metadata": {"resourceVersion": "9"}, "items": [{}]})"}) {
    EXPECT_EQ(ReadPodList(text).status().code(), Code::kUnavailable) << text;
  }
}

TEST(PodSeen, EventsOfAWatch) {
  const auto event = [](const std::string& type, const std::string& object) {
    return ReadPodEvent(R"({"type": ")" + type + R"(", "object": )" + object + "}");
  };
  EXPECT_EQ(event("ADDED", kRunningPod)->kind, PodEvent::Kind::kSeen);
  EXPECT_EQ(event("MODIFIED", kRunningPod)->version, "7");
  EXPECT_EQ(event("DELETED", kRunningPod)->kind, PodEvent::Kind::kGone);
  const auto mark = event("BOOKMARK", R"({"metadata": {"resourceVersion": "12"}})");
  EXPECT_EQ(mark->kind, PodEvent::Kind::kBookmark);
  EXPECT_EQ(mark->version, "12");
  EXPECT_EQ(event("ERROR", R"({"code": 410, "message": "too old"})")->kind,
            PodEvent::Kind::kExpired);
  EXPECT_EQ(event("ERROR", R"({"code": 500, "message": "etcd"})")->message, "etcd");
  EXPECT_EQ(event("NEW", kRunningPod)->kind, PodEvent::Kind::kError);
  for (const char* line :
       {"", "{}", R"({"type": "ADDED"})", R"({"type": "ADDED", "object": {}})"}) {
    EXPECT_EQ(ReadPodEvent(line).status().code(), Code::kUnavailable) << line;
  }
}

TEST(PodSeen, BytesBecomeLinesHoweverTheyCome) {
  const std::string text = "one\ntwo\n\nthree\nrest";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    LineCutter cutter;
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size(); at += step) {
      ASSERT_TRUE(cutter.Add(std::string_view(text).substr(at, step)));
      for (std::string line; cutter.Next(line);) lines.push_back(line);
    }
    EXPECT_THAT(lines, testing::ElementsAre("one", "two", "", "three")) << step;
  }
  LineCutter endless;
  const std::string part(std::size_t{1} << 20, 'x');
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(endless.Add(part)) << i;
  EXPECT_FALSE(endless.Add(part)) << "a line without an end is not kept";
}

TEST(PodSeen, TheUidOfAnOwner) {
  EXPECT_EQ(*ReadUid(kRunningPod), "u1");
  EXPECT_FALSE(ReadUid(R"({"metadata": {}})").ok());
}

}  // namespace
}  // namespace headrace::coordinator
