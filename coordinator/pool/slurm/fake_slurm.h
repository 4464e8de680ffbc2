#pragma once

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace headrace::coordinator {

// Test double: sbatch, squeue and scancel as shell scripts over a folder, which run jobs as
// processes of this host. What they do is told by files there, so a test can play a cluster that is
// full, forbids, hangs or loses a node. Jobs that are left end with it.
class FakeSlurm {
 public:
  FakeSlurm() {
    std::string name = (std::filesystem::temp_directory_path() / "fake-slurm-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    std::filesystem::create_directory(folder_ / "jobs");
    Write("next", "0");
    Behave("run");
    Script("sbatch", R"sh(
d=${0%/*}
echo "$*" >> $d/sbatch.log
for word; do
  case $word in
    --array=0-*) last=${word#--array=0-} ;;
    --comment=*) comment=${word#--comment=} ;;
    --job-name=*) name=${word#--job-name=} ;;
  esac
done
behaviour=$(cat $d/behaviour)
case $behaviour in
  hang) exec sleep 1000 ;;
  forbid)
    echo "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified" >&2
    exit 1 ;;
  limit*)
    if [ $((last + 1)) -gt ${behaviour#limit } ]; then
      echo "sbatch: error: AssocMaxSubmitJobLimit" >&2
      echo "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)" >&2
      exit 1
    fi ;;
esac
id=$(($(cat $d/next) + 1))
echo $id > $d/next
cat > $d/script.$id
env > $d/environment.$id
i=0
while [ $i -le $last ]; do
  job=$d/jobs/${id}_$i
  mkdir $job
  echo "$comment" > $job/comment
  echo "$name" > $job/name
  if [ "$behaviour" = queue ]; then
    echo PENDING > $job/state
    echo AssocGrpCpuLimit > $job/reason
  else
    echo RUNNING > $job/state
    echo None > $job/reason
    echo n1 > $job/node
    SLURM_ARRAY_JOB_ID=$id SLURM_ARRAY_TASK_ID=$i setsid sh $d/script.$id < /dev/null > $d/out.${id}_$i 2>&1 &
    echo $! > $job/pid
  fi
  i=$((i + 1))
done
[ "$behaviour" = mute ] && exec sleep 1000
echo "$id;cluster"
)sh");
    Script("squeue", R"sh(
d=${0%/*}
echo "$*" >> $d/squeue.log
if [ "$(cat $d/behaviour)" = down ]; then
  echo "slurm_load_jobs error: Unable to contact slurm controller" >&2
  exit 1
fi
for word; do
  case $word in --name=*) name=${word#--name=} ;; esac
done
for job in $d/jobs/*; do
  [ -d $job ] && [ "$(cat $job/name)" = "$name" ] || continue
  state=$(cat $job/state)
  if [ "$state" = RUNNING ]; then
    case $(sed 's/.*) //' /proc/$(cat $job/pid)/stat 2>/dev/null) in
      "" | Z*) state=FAILED; echo $state > $job/state; echo NonZeroExitCode > $job/reason ;;
    esac
  fi
  id=${job##*/}
  echo "${id%_*}|${id#*_}|$state|$(cat $job/node 2>/dev/null)|$(cat $job/reason)|$(cat $job/comment)"
done
)sh");
    Script("scancel", R"sh(
d=${0%/*}
echo "$*" >> $d/scancel.log
for word; do
  case $word in
    --signal=TERM) term=1 ;;
    --name=*) for job in $d/jobs/*; do
      [ -d $job ] && [ "$(cat $job/name)" = "${word#--name=}" ] && set -- "$@" ${job##*/}
    done ;;
  esac
done
for word; do
  job=$d/jobs/$word
  [ -d $job ] || continue
  if [ -z "$term" ]; then
    echo CANCELLED > $job/state
    [ -f $job/pid ] && kill -KILL $(cat $job/pid) 2>/dev/null
  else
    kill -TERM $(cat $job/pid) 2>/dev/null
  fi
done
exit 0
)sh");
  }
  FakeSlurm(const FakeSlurm&) = delete;
  FakeSlurm& operator=(const FakeSlurm&) = delete;
  ~FakeSlurm() {
    for (const std::string& job : Jobs()) {
      if (const int pid = PidOf(job); pid > 0) (void)::kill(pid, SIGKILL);
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] std::string folder() const { return folder_.string(); }
  // "run"; "queue": jobs stay queued; "forbid"; "limit N": of one sbatch; "hang": sbatch does and
  // submits nothing; "mute": it submits, and then hangs; "down": squeue fails.
  void Behave(const std::string& how) { Write("behaviour", how); }
  // Handles of all jobs that were ever submitted.
  [[nodiscard]] std::vector<std::string> Jobs() const {
    std::vector<std::string> jobs;
    for (const auto& each : std::filesystem::directory_iterator(folder_ / "jobs")) {
      jobs.push_back(each.path().filename().string());
    }
    std::ranges::sort(jobs);
    return jobs;
  }
  [[nodiscard]] int PidOf(const std::string& job) const {
    return std::atoi(Read("jobs/" + job + "/pid").c_str());
  }
  void SetState(const std::string& job, const std::string& state, const std::string& reason) {
    Write("jobs/" + job + "/state", state);
    Write("jobs/" + job + "/reason", reason);
  }
  // What a command was called with, one line a call.
  [[nodiscard]] std::vector<std::string> Calls(const std::string& command) const {
    std::istringstream text(Read(command + ".log"));
    std::vector<std::string> calls;
    for (std::string line; std::getline(text, line);) calls.push_back(line);
    return calls;
  }
  [[nodiscard]] std::string Read(const std::string& file) const {
    std::ifstream in(folder_ / file);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

 private:
  void Write(const std::string& file, const std::string& text) {
    std::ofstream(folder_ / file) << text << '\n';
  }
  void Script(const std::string& name, const std::string& text) {
    Write(name, "#!/bin/sh" + text);
    ::chmod((folder_ / name).c_str(), 0700);
  }

  std::filesystem::path folder_;
};

}  // namespace headrace::coordinator
