#include "coordinator/pool/slurm/slurm_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::coordinator {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

SlurmWishes Wishes() {
  SlurmWishes wishes;
  wishes.partition = "cpu";
  wishes.account = "vision";
  wishes.qos = "low";
  wishes.constraint = "avx2&nvme";
  wishes.time = "4:00:00";
  wishes.cores = 8;
  wishes.memory_bytes = std::uint64_t{16} << 30;
  wishes.cache_bytes = std::uint64_t{8} << 30;
  wishes.output = "log/%A_%a";
  wishes.submit = {"--nice=100", "--exclude=bad1"};
  return wishes;
}

TEST(SlurmText, SbatchSaysAllThatTheUserWants) {
  const auto words = SbatchWords(Wishes(), {"headrace-head-7070", 1700}, {3, 20});
  EXPECT_EQ(words.front(), "sbatch");
  for (const char* word :
       {"--parsable", "--array=0-19", "--job-name=headrace-head-7070",
        "--comment=headrace pool=headrace-head-7070 epoch=1700 batch=3", "--no-requeue",
        "--cpus-per-task=8", "--mem=16384M", "--partition=cpu", "--account=vision", "--qos=low",
        "--constraint=avx2&nvme", "--time=4:00:00", "--signal=B:TERM@60", "--output=log/%A_%a"}) {
    EXPECT_THAT(words, Contains(word));
  }
  // The user's own words win, as the last ones do.
  EXPECT_EQ(words[words.size() - 2], "--nice=100");
  EXPECT_EQ(words.back(), "--exclude=bad1");
}

TEST(SlurmText, WhatIsNotWantedIsLeftToSlurm) {
  SlurmWishes plain;
  plain.memory_bytes = 1;
  const auto words = SbatchWords(plain, {"p", 1}, {1, 1});
  EXPECT_THAT(words, Contains("--array=0-0"));
  EXPECT_THAT(words, Contains("--mem=1M")) << "0 would be all memory of a node";
  for (const char* option : {"--partition", "--account", "--qos", "--constraint", "--time"}) {
    EXPECT_THAT(words, Not(Contains(testing::StartsWith(option))));
  }
}

TEST(SlurmText, TheScriptIsTheWorkerWithWhatItHasAndItsName) {
  const std::string script = SlurmScript({"/opt/my apps/headrace", "worker", "it's"}, Wishes());
  EXPECT_THAT(script, testing::StartsWith(
                          "#!/bin/sh\nexec '/opt/my apps/headrace' 'worker' 'it'\\''s' "
                          "'--threads' '8' '--cache' '8589934592' '--memory' '16106127360'"));
  EXPECT_THAT(script, HasSubstr("--pool-member \"${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}\""));
}

TEST(SlurmText, SbatchAnswersAnIdWithOrWithoutACluster) {
  EXPECT_EQ(*ParseSbatch("123\n"), "123");
  EXPECT_EQ(*ParseSbatch("123;alps\n"), "123");
  for (const char* answer : {"", "\n", "Submitted batch job 12", "12a", "-1"}) {
    EXPECT_EQ(ParseSbatch(answer).status().code(), Code::kUnavailable) << answer;
  }
}

TEST(SlurmText, SqueueRowsAreReadAndJobsOfOthersPassedOver) {
  const auto rows = ParseSqueue(
      "12|0|RUNNING|n1|None|headrace pool=p epoch=1700 batch=3\n"
      "12|1|PENDING||Resources|headrace pool=p epoch=1700 batch=3\n"
      "13|N/A|RUNNING|n2|None|no array\n"
      "14|7|CANCELLED by 0|n3|None|a comment | with bars\n");
  ASSERT_TRUE(rows.ok());
  ASSERT_THAT(*rows, SizeIs(3));
  EXPECT_EQ((*rows)[0].handle, "12_0");
  EXPECT_EQ((*rows)[0].node, "n1");
  EXPECT_EQ((*rows)[0].reason, "");
  EXPECT_EQ((*rows)[0].epoch, 1700);
  EXPECT_EQ((*rows)[0].batch, 3);
  EXPECT_EQ((*rows)[1].reason, "Resources");
  EXPECT_EQ((*rows)[2].handle, "14_7");
  EXPECT_EQ((*rows)[2].epoch, 0);
  EXPECT_THAT(*ParseSqueue(""), IsEmpty());
  EXPECT_EQ(ParseSqueue("12|0|RUNNING\n").status().code(), Code::kUnavailable);
}

TEST(SlurmText, WordsOfALaterSlurmCountAsRunning) {
  EXPECT_EQ(PhaseOf("PENDING"), SlurmPhase::kQueued);
  EXPECT_EQ(PhaseOf("CONFIGURING"), SlurmPhase::kQueued);
  EXPECT_EQ(PhaseOf("RUNNING"), SlurmPhase::kRunning);
  EXPECT_EQ(PhaseOf("COMPLETING"), SlurmPhase::kEnding);
  for (const char* state : {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED",
                            "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE"}) {
    EXPECT_EQ(PhaseOf(state), SlurmPhase::kEnded) << state;
  }
  EXPECT_EQ(PhaseOf("LEVITATING"), SlurmPhase::kRunning);
}

TEST(SlurmText, ALimitIsToldFromWhatIsForbidden) {
  EXPECT_EQ(WhyRefused(Unavailable("sbatch: error: QOSMaxSubmitJobPerUserLimit")).code(),
            Code::kResourceExhausted);
  EXPECT_EQ(WhyRefused(Unavailable("Job violates accounting/QOS policy (job submit limit)")).code(),
            Code::kResourceExhausted);
  EXPECT_EQ(WhyRefused(Unavailable("Requested time limit is invalid")).code(), Code::kUnavailable);
  EXPECT_EQ(WhyRefused(Unavailable("Invalid partition name specified")).code(), Code::kUnavailable);
}

// As Slurm 22.05 says it.
TEST(SlurmText, ARefusalAndAQueueHaveTheirKinds) {
  const auto refusal = [](const std::string& said) {
    return WhyRefused(Unavailable(said)).detail();
  };
  EXPECT_EQ(refusal("sbatch: error: AssocMaxSubmitJobLimit"), Detail::kQuota);
  EXPECT_EQ(refusal("sbatch: error: invalid partition specified: nowhere"), Detail::kNoPlace);
  EXPECT_EQ(refusal("Batch job submission failed: Invalid partition name specified"),
            Detail::kNoPlace);
  EXPECT_EQ(refusal("Invalid account or account/partition combination specified"),
            Detail::kForbidden);
  EXPECT_EQ(refusal("User's group not permitted to use this partition"), Detail::kForbidden);
  EXPECT_EQ(refusal("Unable to contact slurm controller (connect failure)"), Detail::kUnreachable);
  EXPECT_EQ(refusal("Requested time limit is invalid"), Detail::kNone);
  EXPECT_EQ(WhyRefused(NotFound("sbatch")).detail(), Detail::kUnreachable);
  EXPECT_EQ(WhyRefused(DeadlineExceeded("squeue")).detail(), Detail::kUnreachable);

  EXPECT_EQ(WhyQueued("Resources"), Detail::kNoRoom);
  EXPECT_EQ(WhyQueued("Priority"), Detail::kNoRoom);
  EXPECT_EQ(WhyQueued("QOSMaxCpuPerUserLimit"), Detail::kQuota);
  EXPECT_EQ(WhyQueued("AssocGrpCpuLimit"), Detail::kQuota);
  EXPECT_EQ(WhyQueued("QOSNotAllowed"), Detail::kForbidden);
  EXPECT_EQ(WhyQueued("PartitionDown"), Detail::kNoPlace);
  EXPECT_EQ(WhyQueued(""), Detail::kNone);
}

TEST(SlurmText, AJobOfWhichTheCoordinatorIsPartGivesItsSettingsToNoWorker) {
  EXPECT_THAT(
      SlurmEnvironment({"PATH=/bin", "HEADRACE_KEYS=/k", "SLURM_CONF=/c", "SLURM_JOB_ID=1",
                        "SLURM_MEM_PER_CPU=1", "SBATCH_ACCOUNT=a", "SBATCH_WAIT=1", "AWS_SECRET=s",
                        "DATA=/d", "DATA2=/e"},
                       {"DATA"}),
      ElementsAre("PATH=/bin", "HEADRACE_KEYS=/k", "SLURM_CONF=/c", "SBATCH_ACCOUNT=a", "DATA=/d"));
}

TEST(SlurmText, HandlesAreTwoNumbers) {
  EXPECT_TRUE(IsSlurmHandle("1234_5"));
  for (const char* text : {"", "1234", "_5", "5_", "a_5", "5_b", "headrace-x.1.2.3"}) {
    EXPECT_FALSE(IsSlurmHandle(text)) << text;
  }
}

}  // namespace
}  // namespace headrace::coordinator
