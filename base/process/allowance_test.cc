#include "base/process/allowance.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// The files of a system, under a directory of the test.
class AllowanceTest : public ::testing::Test {
 protected:
  AllowanceTest() {
    std::string path = ::testing::TempDir() + "allowanceXXXXXX";
    root_ = ::mkdtemp(path.data());
    Write("/proc/meminfo", "MemTotal: 1048576 kB\nMemFree: 1 kB\nMemAvailable: 524288 kB\n");
  }
  ~AllowanceTest() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void SecondVersion(const std::string& group, const std::string& mounted = "/") const {
    Write("/proc/self/cgroup", "0::" + group + "\n");
    Write("/proc/self/mountinfo",
          "20 1 0:5 / /proc rw - proc proc rw\n30 23 0:26 " + mounted +
              " /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  }

  std::string root_;
};

TEST_F(AllowanceTest, WithoutGroupsItIsTheHosts) {
  const Allowance allowance = ReadAllowance(root_);
  EXPECT_GE(allowance.cpus, 1);
  EXPECT_EQ(allowance.memory_bytes, 1024 * kMiB);
  EXPECT_EQ(AvailableMemory(root_), 512 * kMiB);
  EXPECT_EQ(UsualCacheBytes(root_), 128 * kMiB);
}

TEST_F(AllowanceTest, TheLeastOfAGroupAndOfThoseAboveIt) {
  SecondVersion("/jobs/one");
  Write("/sys/fs/cgroup/jobs/one/cpu.max", "max 100000\n");
  Write("/sys/fs/cgroup/jobs/cpu.max", "50000 100000\n");
  Write("/sys/fs/cgroup/jobs/one/memory.max", "max\n");
  Write("/sys/fs/cgroup/jobs/memory.max", std::to_string(300 * kMiB));
  Write("/sys/fs/cgroup/jobs/memory.current", std::to_string(200 * kMiB));
  Write("/sys/fs/cgroup/jobs/memory.stat",
        "anon 1\ninactive_file " + std::to_string(50 * kMiB) + "\nactive_file 0\n");
  EXPECT_EQ(ReadAllowance(root_).cpus, 0.5);
  EXPECT_EQ(ReadAllowance(root_).memory_bytes, 300 * kMiB);
  EXPECT_EQ(AvailableMemory(root_), 150 * kMiB);
  EXPECT_EQ(UsualCacheBytes(root_), 150 * kMiB / 4) << "of what the container has left";
  Write("/sys/fs/cgroup/jobs/one/memory.max", std::to_string(100 * kMiB));
  EXPECT_EQ(ReadAllowance(root_).memory_bytes, 100 * kMiB);
}

// A container sees its own group as the root: by a namespace, or by the mount alone.
TEST_F(AllowanceTest, AContainersGroupIsTheMountsRoot) {
  for (const std::string mounted : {"/", "/docker/abc"}) {
    SecondVersion(mounted == "/" ? "/" : "/docker/abc", mounted);
    Write("/sys/fs/cgroup/cpu.max", "25000 100000\n");
    EXPECT_EQ(ReadAllowance(root_).cpus, 0.25) << mounted;
  }
}

TEST_F(AllowanceTest, FirstVersion) {
  Write("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,cpuacct:/box\n3:memory:/box\n2:cpuset:/\n");
  Write("/proc/self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "75000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", std::to_string(400 * kMiB));
  Write("/sys/fs/cgroup/memory/box/memory.usage_in_bytes", std::to_string(390 * kMiB));
  Write("/sys/fs/cgroup/memory/box/memory.stat",
        "active_file 5\ntotal_inactive_file " + std::to_string(40 * kMiB) + "\n");
  EXPECT_EQ(ReadAllowance(root_).cpus, 0.75);
  EXPECT_EQ(ReadAllowance(root_).memory_bytes, 400 * kMiB);
  EXPECT_EQ(AvailableMemory(root_), 50 * kMiB);
}

TEST_F(AllowanceTest, WhatIsNoNumberIsNoLimit) {
  SecondVersion("/x");
  Write("/sys/fs/cgroup/x/cpu.max", "\n");
  Write("/sys/fs/cgroup/x/memory.max", "much\n");
  EXPECT_GE(ReadAllowance(root_).cpus, 1);
  EXPECT_EQ(ReadAllowance(root_).memory_bytes, 1024 * kMiB);
}

TEST(Allowance, ThisProcess) {
  const Allowance allowance = ReadAllowance();
  EXPECT_GT(allowance.cpus, 0);
  EXPECT_EQ(UsableCpus(), std::max(1, static_cast<int>(std::ceil(allowance.cpus))));
  EXPECT_GT(allowance.memory_bytes, kMiB);
  EXPECT_LE(AvailableMemory(), allowance.memory_bytes);
}

}  // namespace
}  // namespace headrace
