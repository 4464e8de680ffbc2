#include "simulate/trace/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace headrace::simulate {
namespace {

using testing::HasSubstr;

Result<Trace> Read(const std::string& text, const AssignOptions& options = {},
                   const std::map<std::string, std::string, std::less<>>& beside = {}) {
  Input input;
  input.file = "t.csv";
  input.text = text;
  input.companion = [&](std::string_view name) -> Result<std::string> {
    const auto it = beside.find(name);
    if (it == beside.end()) return NotFound(std::string(name) + ": not there");
    return it->second;
  };
  return ReadTrace(input, options);
}

std::string Fault(const std::string& text,
                  const std::map<std::string, std::string, std::less<>>& beside = {}) {
  const auto trace = Read(text, {}, beside);
  return trace.ok() ? "no error" : trace.status().message();
}

const std::string kMuri =
    "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,"
    "resource_time_0,resource_time_1,resource_time_2,priority\n";

// The longer stage is the iteration; one factor scales it to the measured time. 2 GPUs at 3 cores
// each: 800 ms * 6 cores = 4.8 core-seconds. The trainer alone takes 800 * (60 + 20) / 400 = 160
// ms.
TEST(Muri, StagesAreScaledToTheMeasuredIteration) {
  const auto trace = Read(kMuri + "7,2,1500,100,shufflenet,64,0,0,800,400,60,20,0\n");
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  const Job& job = trace->jobs[0];
  EXPECT_EQ(trace->format, "muri");
  EXPECT_EQ(job.id, "7");
  EXPECT_EQ(job.gpus, 2);
  EXPECT_DOUBLE_EQ(job.arrival_s, 1.5);
  EXPECT_DOUBLE_EQ(job.batch, 128);
  EXPECT_DOUBLE_EQ(job.step_s, 0.160);
  EXPECT_DOUBLE_EQ(job.input_core_s, 4.8);
  EXPECT_DOUBLE_EQ(job.samples(), 12800);
  EXPECT_DOUBLE_EQ(coordinator::Throughput(job.terms(), 6, 0, coordinator::kUnlimited), 128 / 0.8);
  EXPECT_EQ(trace->datasets[static_cast<std::size_t>(job.dataset)].name, "imagenet-1k");
}

TEST(Muri, TheProfilesCoresScaleTheInputsCost) {
  AssignOptions one;
  one.profile_cores = 1;
  const auto trace = Read(kMuri + "7,2,0,100,shufflenet,64,0,0,800,400,60,20,0\n", one);
  EXPECT_DOUBLE_EQ(trace->jobs[0].input_core_s, 1.6);
}

TEST(Muri, ReinforcementLearningStaysWithTheTrainerUnlessAsked) {
  const std::string text = kMuri + "7,1,0,100,a2c,64,0,0,517,514,14,0,0\n";
  EXPECT_FALSE(Read(text)->jobs[0].separable);
  EXPECT_EQ(Read(text)->jobs[0].dataset, -1);
  AssignOptions all;
  all.all_separable = true;
  EXPECT_TRUE(Read(text, all)->jobs[0].separable);
}

TEST(Muri, JobsComeInOrderOfArrival) {
  const auto trace = Read(kMuri +
                          "1,1,2000,1,bert,4,0,0,1,1,1,0,0\n2,1,1000,1,bert,4,0,0,1,1,1,0,0\n"
                          "3,1,1000,1,bert,4,0,0,1,1,1,0,0\n");
  EXPECT_EQ(trace->jobs[0].id, "2");
  EXPECT_EQ(trace->jobs[1].id, "3");
  EXPECT_EQ(trace->jobs[2].id, "1");
}

TEST(Muri, FaultsNameTheirLineAndWhatWasExpected) {
  EXPECT_EQ(Fault(kMuri + "7,0.5,0,100,a,64,0,0,517,514,14,0,0\n"),
            "t.csv:2: num_gpu: expected a number from 1 to 100000, not '0.5'");
  EXPECT_THAT(Fault(kMuri + "7,1.5,0,100,a,64,0,0,517,514,14,0,0\n"), HasSubstr("a whole number"));
  EXPECT_THAT(Fault(kMuri + "7,1,0,100,a,64,0,0,nan,514,14,0,0\n"),
              HasSubstr("t.csv:2: iteration_time"));
  EXPECT_THAT(Fault(kMuri + "7,1,0,100,a,64,0,0,5,514,0,0,0\n"), HasSubstr("resource_time_1"));
  EXPECT_THAT(Fault(kMuri), HasSubstr("no jobs"));
  EXPECT_THAT(Fault("job_id,resource_time_0\n1,2\n"), HasSubstr("the header lacks num_gpu"));
}

const std::map<std::string, std::string, std::less<>> kThroughputs = {
    {"simulation_throughputs.json",
     R"x({"v100": {"('ResNet-18 (batch size 128)', 4)": {"null": 20.0, "('x', 1)": [1, 2]}}})x"}};
const std::string kGavel =
    "ResNet-18 (batch size 128)\tpython3 main.py\timage\t--num_steps\t1\t600\t4\t1\t-1.0\t90\n";

// 20 steps/s are 50 ms. With 3 cores a GPU of the 7.2 that ResNet-18 could use, the trainer needs
// 50 * 3 / 7.2 of it.
TEST(Gavel, StepsTakeWhatTheTableSays) {
  const auto trace = Read(kGavel, {}, kThroughputs);
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  const Job& job = trace->jobs[0];
  EXPECT_EQ(trace->format, "gavel");
  EXPECT_EQ(job.gpus, 4);
  EXPECT_DOUBLE_EQ(job.arrival_s, 90);
  EXPECT_DOUBLE_EQ(job.iterations, 600);
  EXPECT_DOUBLE_EQ(job.batch, 512);
  EXPECT_NEAR(job.step_s, 0.05 * 3 / 7.2, 1e-15);
  EXPECT_NEAR(job.input_core_s, 0.05 * 12, 1e-15);
}

TEST(Gavel, TheOlderFormHasItsNumbersElsewhere) {
  const auto trace =
      Read("ResNet-18 (batch size 128)\tpython3 main.py\t--num_steps\t1\t600\t90\t4\n", {},
           kThroughputs);
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  EXPECT_EQ(trace->jobs[0].gpus, 4);
  EXPECT_DOUBLE_EQ(trace->jobs[0].arrival_s, 90);
}

TEST(Gavel, FaultsOfEitherFileAreNamed) {
  EXPECT_THAT(Fault(kGavel), HasSubstr("simulation_throughputs.json"));
  EXPECT_THAT(Fault(kGavel, {{"simulation_throughputs.json", "{"}}), HasSubstr("member v100"));
  EXPECT_THAT(Fault(kGavel, {{"simulation_throughputs.json", R"({"v100": []})"}}),
              HasSubstr("t.csv:1: job_type"));
  EXPECT_THAT(Fault("X (batch size q)\ta\tb\tc\t1\t600\t4\t1\t-1.0\t90\n", kThroughputs),
              HasSubstr("a batch size"));
}

const std::map<std::string, std::string, std::less<>> kProfiles = {
    {"synergy_cpu_mem_profiles.csv",
     "model,gpus,file_cpu_per_gpu_ratio,opt_cpus,batch,iter_time_opt,speedup\n"
     "alexnet,1,4,12,512,0.48,2\nalexnet,1,3,12,512,0.6,3\nbert,1,3,1,20,0.011,1\n"}};

// Three times as fast as with 3 cores, so the trainer alone takes a third.
TEST(Synergy, ProfilesAtThreeCoresAreUsed) {
  const auto trace = Read("0,alexnet,8,100,2\n1,bert,9,50,1\n", {}, kProfiles);
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  EXPECT_EQ(trace->format, "synergy");
  EXPECT_DOUBLE_EQ(trace->jobs[0].step_s, 0.6 / 3);
  EXPECT_DOUBLE_EQ(trace->jobs[0].input_core_s, 0.6 * 6);
  EXPECT_DOUBLE_EQ(trace->jobs[0].batch, 1024);
  EXPECT_DOUBLE_EQ(trace->jobs[1].step_s, 0.011);
  EXPECT_NEAR(trace->jobs[1].input_core_s, 0.011 * 1, 1e-15);  // one core keeps up
}

TEST(Synergy, FaultsAreNamed) {
  EXPECT_THAT(Fault("0,alexnet,8,100,2\n"), HasSubstr("synergy_cpu_mem_profiles.csv"));
  EXPECT_THAT(Fault("0,zebra,8,100,2\n", kProfiles), HasSubstr("one of the profiles, not 'zebra'"));
  EXPECT_THAT(Fault("0,bert,8,100,2\n1,bert,8\n", kProfiles), HasSubstr("t.csv:2"));
}

TEST(Sia, ApplicationsHaveTheirClassesGpuHours) {
  const auto trace = Read(
      "name,time,application,num_replicas,batch_size\nyolov3-1,107,yolov3,4,64\nb,9,bert,1,12\n");
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  const Job& job = trace->jobs[1];
  EXPECT_EQ(trace->format, "sia");
  EXPECT_EQ(job.id, "yolov3-1");
  EXPECT_DOUBLE_EQ(job.batch, 64);
  // 30 GPU-hours with four GPUs, measured with three cores a GPU.
  const double rate = coordinator::Throughput(job.terms(), 12, 0, coordinator::kUnlimited);
  EXPECT_NEAR(job.samples() / rate, 30 * 3600 / 4, 1e-6);
}

TEST(Philly, ModelsAreDrawnFromTheSeedAndTimeBeginsAtZero) {
  const std::string text =
      "timestamp,duration,num_gpus,gpu_time,VC\n1000,600,8,4800,a\n1010,0,1,0,b\n900,60,1,60,b\n";
  const auto trace = Read(text);
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_DOUBLE_EQ(trace->jobs[0].arrival_s, 0);
  EXPECT_DOUBLE_EQ(trace->jobs[1].arrival_s, 100);
  EXPECT_EQ(trace->jobs[1].tenant, "a");
  const Job& job = trace->jobs[1];
  EXPECT_NEAR(job.samples() / coordinator::Throughput(job.terms(), 24, 0, coordinator::kUnlimited),
              600, 1e-6);
  AssignOptions other;
  bool differs = false;
  for (other.seed = 2; other.seed < 9; ++other.seed) {
    differs = differs || Read(text, other)->jobs[1].model != job.model;
  }
  EXPECT_TRUE(differs);
  EXPECT_EQ(Read(text)->jobs[1].model, job.model);
}

const std::string kOwn = "job_id,arrival_s,gpus,duration_s,model,dataset,dataset_gb,ramp\n";

TEST(Own, DurationAndModelAreEnough) {
  const auto trace = Read("job_id,arrival_s,gpus,duration_s\na,0,1,100\n");
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  EXPECT_EQ(trace->format, "headrace");
  EXPECT_FALSE(trace->jobs[0].model.empty());
}

TEST(Own, FaultsAreNamed) {
  EXPECT_THAT(Fault("job_id,arrival_s,gpus\na,0,1\n"), HasSubstr("t.csv:2: expected how long"));
  // Found by the fuzzer: a record with the time of a step, but not their number.
  EXPECT_THAT(Fault("job_id,arrival_s,gpus,step_s\na,0,1,2\n"), HasSubstr("expected how long"));
  EXPECT_THAT(Fault("job_id,arrival_s,gpus,iteration_s\na,0,1,2\n"),
              HasSubstr("expected how long"));
  EXPECT_THAT(Fault("job_id,arrival_s,gpus,iterations\na,0,1,2\n"), HasSubstr("expected how long"));
  EXPECT_THAT(Fault(kOwn + "a,0,1,100,x,mine,,\n"), HasSubstr("'mine' is not a data set"));
  EXPECT_THAT(Fault(kOwn + "a,0,1,100,x,mine,5,\nb,0,1,100,x,mine,6,\n"),
              HasSubstr("t.csv:3: dataset_gb: expected the size that 'mine'"));
  EXPECT_THAT(Fault(kOwn + "a,0,1,100,x,,,5:2;5:1\n"), HasSubstr("seconds that rise"));
  EXPECT_THAT(Fault(kOwn + "a,0,1,100,x,,,5\n"), HasSubstr("ramp"));
  EXPECT_THAT(Fault("hello\n"), HasSubstr("expected the first line of a trace"));
  EXPECT_THAT(Fault(""), HasSubstr("expected the first line of a trace"));
}

TEST(Own, PrivateDatasetsAreNotShared) {
  const std::string text = kOwn + "a,0,1,100,x,mine,5,\nb,0,1,100,x,mine,5,\n";
  EXPECT_EQ(Read(text)->datasets.size(), 1U);
  AssignOptions separate;
  separate.private_datasets = true;
  EXPECT_EQ(Read(text, separate)->datasets.size(), 2U);
}

TEST(Own, WhatIsWrittenIsReadAgain) {
  const auto trace = Read(
      "job_id,arrival_s,gpus,iterations,step_s,input_s,hit_input_s,profile_cores,batch,separable,"
      "dataset,dataset_gb,sample_bytes,entry_bytes,priority,tenant,ramp\n"
      "\"a,b\",0.25,4,1000,0.1,0.4,0.3,2,16,1,mine,5,1000,6000,3,t,10:4;20:1\n"
      "c,1,1,10,0.3,0.1,,3,8,0,none,,,,,,\n");
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  const std::string written = WriteTrace(*trace);
  const auto again = Read(written);
  ASSERT_TRUE(again.ok()) << again.status().ToString() << written;
  EXPECT_EQ(WriteTrace(*again), written);
  const Job& job = again->jobs[0];
  EXPECT_EQ(job.id, "a,b");
  EXPECT_DOUBLE_EQ(job.input_core_s, 0.4 * 8);
  EXPECT_DOUBLE_EQ(job.hit_core_s, 0.3 * 8);
  EXPECT_EQ(job.ramp.size(), 2U);
  EXPECT_DOUBLE_EQ(job.sample_bytes, 1000);
  EXPECT_DOUBLE_EQ(job.entry_bytes, 6000);
  EXPECT_FALSE(again->jobs[1].separable);
  EXPECT_EQ(again->jobs[1].dataset, -1);
}

}  // namespace
}  // namespace headrace::simulate
