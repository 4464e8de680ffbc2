#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/log.h"
#include "coordinator/pool/core/command_words.h"
#include "coordinator/pool/core/engine_commands.h"
#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/slurm/slurm_ledger.h"
#include "coordinator/pool/slurm/slurm_text.h"

namespace headrace {
namespace coordinator {
namespace {

constexpr char kEnd[] = "end";
constexpr char kKeep[] = "keep";
constexpr Duration kStopPatience = std::chrono::seconds(10);
constexpr std::uint64_t kMemoryOfACore = std::uint64_t{2} << 30;

std::vector<std::string> Cut(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  return all;
}

// How Slurm's commands are run.
struct SlurmCommands {
  std::string folder;  // where they are; empty: in PATH
  std::vector<std::string> environment;
  Duration patience;

  [[nodiscard]] EngineCommands::Command Command(std::vector<std::string> words,
                                                std::string input = "") const {
    if (!folder.empty()) words.front() = folder + "/" + words.front();
    return {std::move(words), environment, std::move(input), patience};
  }
};

// Workers that Slurm runs, as arrays of jobs. One sbatch takes all members that are wanted at the
// moment, one squeue tells of all of them each few seconds while there are any, and one scancel ends
// several. Slurm starts none again: what ends is gone from the list, and the coordinator asks for
// another. A worker whose walltime ends, or that Slurm pre-empts, gets SIGTERM before and leaves.
// Reactor thread only.
class SlurmPool final : public Pool {
 public:
  struct Rules {
    SlurmWishes wishes;
    SlurmCommands commands;
    Duration poll;
    bool keep_at_stop = false;
  };
  SlurmPool(net::Reactor& reactor, PoolOptions options, PoolEvents events, Rules rules)
      : reactor_(reactor),
        options_(std::move(options)),
        events_(std::move(events)),
        rules_(std::move(rules)),
        origin_{options_.name, options_.epoch},
        commands_(std::make_unique<EngineCommands>(reactor)),
        ledger_(origin_, options_.most_members),
        poll_(reactor.AddTimer(rules_.poll, [this] { Ask(); })),
        soon_(reactor.AddOnce(Duration::zero(), [this] {
          soon_.reset();
          Ask();
        })) {}
  ~SlurmPool() override { Stop(); }

  [[nodiscard]] std::string_view name() const override { return "slurm"; }
  [[nodiscard]] double member_cores() const override {
    return static_cast<double>(rules_.wishes.cores);
  }
  [[nodiscard]] bool ready() const override { return ledger_.ready(); }

  Status Grow(std::int32_t count) override {
    if (stopped_) return Unavailable("the slurm pool has been stopped");
    HR_RETURN_IF_ERROR(ledger_.Ask(count));
    if (!soon_) Soon();
    return Status::Ok();
  }
  Status Drain(WorkerId worker) override { return ledger_.Drain(worker); }
  Status Kill(const std::string& handle, Duration grace) override {
    const std::optional<bool> started = ledger_.End(handle);
    if (!started) return NotFound(handle + " is not in the slurm pool");
    const bool at_once = !*started || grace <= Duration::zero();
    (at_once ? cancelled_ : asked_to_leave_).push_back(handle);
    if (!soon_) Soon();
    if (at_once) return Status::Ok();
    const std::int64_t number = ++last_grace_;
    graces_[number] = reactor_.AddOnce(grace, [this, number, handle] {
      graces_.erase(number);
      if (!ledger_.End(handle)) return;
      cancelled_.push_back(handle);
      if (!soon_) Soon();
    });
    return Status::Ok();
  }
  [[nodiscard]] std::string_view Remedy(Detail trouble) const override {
    return SlurmRemedy(trouble);
  }
  [[nodiscard]] std::vector<PoolMember> List() const override {
    return stopped_ ? std::vector<PoolMember>() : ledger_.List();
  }

  void Registered(const wire::WorkerInfo& info) override {
    ledger_.Registered(info, reactor_.clock().Now());
  }
  void Leaving(WorkerId worker) override { ledger_.Leaving(worker); }
  void Lost(WorkerId worker) override { ledger_.Lost(worker); }
  void Left(WorkerId worker) override { ledger_.Left(worker); }
  // squeue's word is seconds old, and Slurm takes minutes to find that a node is lost.
  [[nodiscard]] std::optional<bool> Alive(WorkerId) const override { return std::nullopt; }

  void Stop() override {
    if (stopped_) return;
    stopped_ = true;
    reactor_.CancelTimer(poll_);
    if (soon_) reactor_.CancelTimer(*soon_);
    for (const auto& [number, timer] : graces_) reactor_.CancelTimer(timer);
    commands_.reset();
    if (rules_.keep_at_stop || (ledger_.ready() && ledger_.List().empty())) return;
    // By name: also what a last sbatch has submitted without an answer.
    EngineCommands::Command all = rules_.commands.Command(
        {"scancel", "--name=" + origin_.pool, "--user=" + std::to_string(::geteuid())});
    all.patience = std::min(all.patience, kStopPatience);
    const Status cancelled = EngineCommands::Run(all);
    if (!cancelled.ok()) {
      LogWarning("pool: workers may be left in Slurm by the name " + origin_.pool + ": " +
                 cancelled.message());
    }
  }

 private:
  // Several requests of one turn become one command.
  void Soon() {
    soon_ = reactor_.AddOnce(Duration::zero(), [this] {
      soon_.reset();
      Submit();
      Cancel({"scancel", "--signal=TERM", "--full"}, std::exchange(asked_to_leave_, {}));
      Cancel({"scancel"}, std::exchange(cancelled_, {}));
    });
  }

  void Submit() {
    const std::optional<SlurmBatch> batch = ledger_.NextBatch();
    if (!batch) return;
    commands_->Start(rules_.commands.Command(SbatchWords(rules_.wishes, origin_, *batch),
                                             SlurmScript(options_.worker_command, rules_.wishes)),
                     [this](const EngineCommands::Ended& ended) {
                       OnSubmitted(ended);
                       Submit();
                     });
  }

  void OnSubmitted(const EngineCommands::Ended& ended) {
    if (ended.status.code() == Code::kDeadlineExceeded) return ledger_.Unanswered();
    if (!ended.status.ok()) return Tell(ledger_.Refused(WhyRefused(ended.status)));
    const Result<std::string> id = ParseSbatch(ended.output);
    if (!id.ok()) return ledger_.Unanswered();
    ledger_.Taken(*id);
  }

  void Cancel(std::vector<std::string> words, const std::vector<std::string>& handles) {
    if (handles.empty()) return;
    words.insert(words.end(), handles.begin(), handles.end());
    commands_->Start(rules_.commands.Command(std::move(words)),
                     [](const EngineCommands::Ended& ended) {
                       // The coordinator asks again for what does not end.
                       if (!ended.status.ok()) LogWarning("pool: " + ended.status.message());
                     });
  }

  void Ask() {
    if (listing_ || !ledger_.curious()) return;
    listing_ = true;
    ledger_.ListingBegins();
    commands_->Start(rules_.commands.Command(SqueueWords(origin_, ::geteuid())),
                     [this](const EngineCommands::Ended& ended) {
                       listing_ = false;
                       OnListed(ended);
                       Submit();
                     });
  }

  void OnListed(const EngineCommands::Ended& ended) {
    if (!ended.status.ok()) return Fail(WhyRefused(ended.status));
    const Result<std::vector<SlurmRow>> rows = ParseSqueue(ended.output);
    if (!rows.ok()) return Fail(rows.status());
    Tell(ledger_.Listed(*rows, reactor_.clock().Now()));
  }

  void Tell(const SlurmLedger::Outcome& outcome) {
    for (const WorkerId worker : outcome.ended) {
      if (events_.on_ended) events_.on_ended(worker, 0);
    }
    for (const auto& [count, why] : outcome.failed) {
      if (events_.on_failed) events_.on_failed(count, why);
    }
  }
  void Fail(const Status& why) {
    if (events_.on_failed) events_.on_failed(0, why);
  }

  net::Reactor& reactor_;
  const PoolOptions options_;
  const PoolEvents events_;
  const Rules rules_;
  const SlurmOrigin origin_;
  std::unique_ptr<EngineCommands> commands_;
  SlurmLedger ledger_;
  std::vector<std::string> asked_to_leave_;  // handles, for the next scancel of each kind
  std::vector<std::string> cancelled_;
  std::map<std::int64_t, net::TimerId> graces_;
  std::int64_t last_grace_ = 0;
  net::TimerId poll_;
  std::optional<net::TimerId> soon_;
  bool listing_ = false;
  bool stopped_ = false;
};

Result<std::unique_ptr<Pool>> MakeSlurmPool(net::Reactor& reactor, PoolOptions options,
                                            PoolEvents events) {
  if (options.worker_command.empty()) {
    return InvalidArgument("the slurm pool needs the command line of a worker");
  }
  const Settings& given = options.settings;
  SlurmPool::Rules rules;
  SlurmWishes& wishes = rules.wishes;
  wishes.partition = given.Text("partition");
  wishes.account = given.Text("account");
  wishes.qos = given.Text("qos");
  wishes.constraint = given.Text("constraint");
  wishes.time = given.Text("time");
  wishes.cores = std::max<std::int64_t>(given.Count("cores"), 1);
  wishes.memory_bytes = given.Bytes("memory");
  if (wishes.memory_bytes == 0) {
    wishes.memory_bytes = static_cast<std::uint64_t>(wishes.cores) * kMemoryOfACore;
  }
  wishes.cache_bytes = given.Bytes("cache");
  if (wishes.cache_bytes >= wishes.memory_bytes) {
    return InvalidArgument("--slurm-cache is a part of --slurm-memory, and must be less");
  }
  wishes.notice_s = given.Count("notice-s");
  wishes.output = given.Text("output");
  HR_TRY(wishes.submit, SplitWords(given.Text("submit")));
  rules.commands = {
      given.Text("commands"), SlurmEnvironment(OwnEnvironment(), Cut(given.Text("export"), ',')),
      std::chrono::seconds(std::max<std::int64_t>(given.Count("command-timeout-s"), 1))};
  rules.poll = std::chrono::seconds(std::max<std::int64_t>(given.Count("poll-s"), 1));
  const std::string& at_stop = given.Text("at-stop");
  if (at_stop != kEnd && at_stop != kKeep) {
    return InvalidArgument("--slurm-at-stop is end or keep, not " + at_stop);
  }
  rules.keep_at_stop = at_stop == kKeep;
  if (const std::string& program = given.Text("program"); !program.empty()) {
    options.worker_command.front() = program;
  }
  return std::unique_ptr<Pool>(std::make_unique<SlurmPool>(reactor, std::move(options),
                                                           std::move(events), std::move(rules)));
}

std::vector<Setting> SlurmSettings() {
  using enum Setting::Kind;
  return {
      {"partition", kText, "", "where workers run: sbatch's --partition"},
      {"account", kText, "", "who pays: sbatch's --account"},
      {"qos", kText, "", "sbatch's --qos"},
      {"constraint", kText, "", "features of the nodes: sbatch's --constraint"},
      {"time", kText, "", "walltime of a worker, as sbatch's --time; it leaves before its end"},
      {"notice-s", kCount, "60", "how long before the end of its walltime it begins to leave"},
      {"cores", kCount, "1", "CPUs of a worker"},
      {"memory", kBytes, "0", "memory of a worker, cache and all; 0: 2G for each core"},
      {"cache", kBytes, "0", "memory cache of a worker"},
      {"submit", kText, "", "more arguments for sbatch, in one word, with quotes as in a shell"},
      {"program", kText, "", "headrace on the nodes; empty: the path of this one"},
      {"export", kText, "", "variables that workers get besides PATH and HEADRACE_*: NAME,NAME"},
      {"output", kText, "headrace-%A_%a.out", "what a worker says: sbatch's --output"},
      {"commands", kText, "", "folder of sbatch, squeue and scancel; empty: those in PATH"},
      {"command-timeout-s", kCount, "30", "a command of Slurm's that takes longer is killed"},
      {"poll-s", kCount, "5", "how often squeue is asked while there are workers"},
      {"at-stop", kText, "end", "what a coordinator that ends does with its workers: end or keep"},
  };
}

}  // namespace
}  // namespace coordinator

void RegisterPoolSlurm(coordinator::PoolRegistry& registry) {
  registry.Register({.name = "slurm",
                     .summary = "jobs of the Slurm cluster that this host submits to",
                     .settings = coordinator::SlurmSettings(),
                     .make = coordinator::MakeSlurmPool});
}

}  // namespace headrace
