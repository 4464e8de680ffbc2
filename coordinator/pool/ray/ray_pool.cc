#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "base/log.h"
#include "coordinator/pool/core/engine_helper.h"
#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/ray/ray_helper_text.h"
#include "coordinator/pool/ray/ray_ledger.h"
#include "coordinator/pool/ray/ray_text.h"

namespace headrace {
namespace coordinator {
namespace {

constexpr char kRayEnd[] = "end";
constexpr char kRayKeep[] = "keep";
constexpr Duration kRayStopPatience = std::chrono::seconds(40);  // ray_helper.py: STOP_S, and more
constexpr Duration kFirstRayPause = std::chrono::seconds(1);
constexpr Duration kLongestRayPause = std::chrono::seconds(60);
constexpr std::uint64_t kRayMemoryOfACore = std::uint64_t{2} << 30;

// Workers that are actors of a Ray cluster, each detached and with a name. A helper in Python, the
// language that Ray speaks, is between: it is started again where it ends, and finds the actors by
// their names. Ray starts none again: what ends is gone from the list, and the coordinator asks for
// another. Reactor thread only.
class RayPool final : public Pool {
 public:
  struct Rules {
    std::string python;
    RayWishes wishes;
    bool keep_at_stop = false;
  };
  RayPool(net::Reactor& reactor, PoolOptions options, PoolEvents events, Rules rules)
      : reactor_(reactor),
        options_(std::move(options)),
        events_(std::move(events)),
        rules_(std::move(rules)),
        ledger_(options_.name, options_.epoch, options_.most_members) {
    Begin(Duration::zero());
  }
  ~RayPool() override { Stop(); }

  [[nodiscard]] std::string_view name() const override { return "ray"; }
  [[nodiscard]] double member_cores() const override {
    return static_cast<double>(rules_.wishes.cores);
  }
  [[nodiscard]] bool ready() const override { return ledger_.ready(); }

  Status Grow(std::int32_t count) override {
    if (stopped_) return Unavailable("the ray pool has been stopped");
    HR_TRY(const std::vector<std::string> names, ledger_.Ask(count));
    Order("start", names);
    return Status::Ok();
  }
  Status Drain(WorkerId worker) override { return ledger_.Drain(worker); }
  Status Kill(const std::string& handle, Duration grace) override {
    const std::optional<bool> started = ledger_.End(handle);
    if (!started) return NotFound(handle + " is not in the ray pool");
    const bool at_once = !*started || grace <= Duration::zero();
    Order(at_once ? "kill" : "term", {handle});
    if (at_once || stopped_) return Status::Ok();
    const std::int64_t number = ++last_grace_;
    graces_[number] = reactor_.AddOnce(grace, [this, number, handle] {
      graces_.erase(number);
      if (ledger_.End(handle)) Order("kill", {handle});
    });
    return Status::Ok();
  }
  [[nodiscard]] std::string_view Remedy(Detail trouble) const override {
    return RayRemedy(trouble);
  }
  [[nodiscard]] std::vector<PoolMember> List() const override {
    return stopped_ ? std::vector<PoolMember>() : ledger_.List();
  }
  void Registered(const wire::WorkerInfo& info) override { ledger_.Registered(info, Now()); }
  void Leaving(WorkerId worker) override { ledger_.Leaving(worker); }
  void Lost(WorkerId worker) override { ledger_.Lost(worker); }
  void Left(WorkerId worker) override { ledger_.Left(worker); }
  // Ray takes half a minute to find that a node is lost.
  [[nodiscard]] std::optional<bool> Alive(WorkerId) const override { return std::nullopt; }

  void Stop() override {
    if (stopped_) return;
    stopped_ = true;
    if (begin_) reactor_.CancelTimer(*begin_);
    for (const auto& [number, timer] : graces_) reactor_.CancelTimer(timer);
    const std::unique_ptr<EngineHelper> helper = std::move(helper_);
    if (rules_.keep_at_stop || (ledger_.ready() && ledger_.List().empty())) return;
    if (helper) helper->Send(RayOrder("stop"));
    if (!connected_ || !helper || !helper->Finish(kRayStopPatience)) {
      LogWarning("pool: actors of Ray may be left by names that begin with " + options_.name + ".");
    }
  }

 private:
  // The interpreter gets the helper's text as its input, and then the settings and orders.
  void Begin(Duration pause) {
    begin_ = reactor_.AddOnce(pause, [this] {
      begin_.reset();
      const std::string text(RayHelperText());
      const std::string load = "import sys; exec(compile(sys.stdin.read(" +
                               std::to_string(text.size()) + "), 'ray_helper.py', 'exec'))";
      Result<std::unique_ptr<EngineHelper>> made =
          EngineHelper::Start(reactor_, {rules_.python, "-c", load},
                              {.on_line = [this](const std::string& line) { OnLine(line); },
                               .on_end = [this](const Status& why) { OnHelperEnd(why); }});
      if (!made.ok()) return OnHelperEnd(made.status().WithContext("--ray-python"));
      helper_ = std::move(made).value();
      helper_->Send(text + RaySettings(rules_.wishes, options_.name, options_.worker_command));
    });
  }

  // What is said to nobody now is said again after the next list.
  void Order(std::string_view what, const std::vector<std::string>& names) {
    if (!connected_ || !helper_) return;
    std::string lines;
    for (const std::string& name : names) lines += RayOrder(what, name);
    helper_->Send(lines);
  }

  void OnLine(const std::string& line) {
    const Result<RayEvent> event = ReadRayEvent(line);
    if (!event.ok()) return Fail(event.status());
    if (event->kind == RayEvent::Kind::kTrouble) {
      trouble_ = Unavailable("Ray: " + event->text).WithDetail(Detail::kUnreachable);
      return;
    }
    if (event->kind == RayEvent::Kind::kListed) {
      connected_ = true;
      pause_ = kFirstRayPause;
    }
    const RayLedger::Outcome outcome = ledger_.Take(*event, Now());
    Order("start", outcome.start);
    for (const auto& [worker, cpu_seconds] : outcome.ended) {
      if (events_.on_ended) events_.on_ended(worker, cpu_seconds);
    }
    for (const auto& [count, why] : outcome.failed) {
      if (events_.on_failed) events_.on_failed(count, why);
    }
  }

  void OnHelperEnd(const Status& why) {
    connected_ = false;
    const std::unique_ptr<EngineHelper> gone = std::move(helper_);
    Begin(pause_);
    pause_ = std::min(2 * pause_, kLongestRayPause);
    Fail(std::exchange(trouble_, std::nullopt).value_or(why.WithDetail(Detail::kUnreachable)));
  }
  void Fail(const Status& why) {
    if (events_.on_failed) events_.on_failed(0, why);
  }
  [[nodiscard]] SteadyTime Now() const { return reactor_.clock().Now(); }

  net::Reactor& reactor_;
  const PoolOptions options_;
  const PoolEvents events_;
  const Rules rules_;
  RayLedger ledger_;
  std::unique_ptr<EngineHelper> helper_;
  bool connected_ = false;  // the helper has listed what there is
  std::optional<Status> trouble_;
  Duration pause_ = kFirstRayPause;
  std::optional<net::TimerId> begin_;
  std::map<std::int64_t, net::TimerId> graces_;
  std::int64_t last_grace_ = 0;
  bool stopped_ = false;
};

std::vector<std::string> RayWords(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    if (!part.empty()) words.push_back(part);
  }
  return words;
}

Result<std::unique_ptr<Pool>> MakeRayPool(net::Reactor& reactor, PoolOptions options,
                                          PoolEvents events) {
  if (options.worker_command.empty()) {
    return InvalidArgument("the ray pool needs the command line of a worker");
  }
  const Settings& given = options.settings;
  RayPool::Rules rules;
  RayWishes& wishes = rules.wishes;
  rules.python = given.Text("python");
  wishes.address = given.Text("address");
  wishes.name_space = given.Text("namespace");
  wishes.cores = std::max<std::int64_t>(given.Count("cores"), 1);
  wishes.memory_bytes = given.Bytes("memory");
  if (wishes.memory_bytes == 0) {
    wishes.memory_bytes = static_cast<std::uint64_t>(wishes.cores) * kRayMemoryOfACore;
  }
  const std::uint64_t cache_bytes = given.Bytes("cache");
  if (cache_bytes >= wishes.memory_bytes) {
    return InvalidArgument("--ray-cache is a part of --ray-memory, and must be less");
  }
  HR_TRY(wishes.resources, ReadRayResources(given.Text("resources")));
  HR_TRY(wishes.labels, ReadRayLabels(given.Text("labels")));
  wishes.exported = RayWords(given.Text("export"));
  const std::string& at_stop = given.Text("at-stop");
  if (at_stop != kRayEnd && at_stop != kRayKeep) {
    return InvalidArgument("--ray-at-stop is end or keep, not " + at_stop);
  }
  rules.keep_at_stop = at_stop == kRayKeep;
  std::vector<std::string>& command = options.worker_command;
  if (const std::string& program = given.Text("program"); !program.empty()) {
    command.front() = program;
  }
  for (const std::string& word : {std::string("--threads"), std::to_string(wishes.cores),
                                  std::string("--cache"), std::to_string(cache_bytes)}) {
    command.push_back(word);
  }
  return std::unique_ptr<Pool>(
      std::make_unique<RayPool>(reactor, std::move(options), std::move(events), std::move(rules)));
}

std::vector<Setting> RaySettingsOfUsers() {
  using enum Setting::Kind;
  return {
      {"address", kText, "auto", "the cluster: HOST:PORT, ray://HOST:PORT, or auto on its nodes"},
      {"python", kText, "python3", "interpreter here with the Ray of the cluster"},
      {"namespace", kText, "headrace", "Ray's namespace of the actors"},
      {"cores", kCount, "1", "CPUs of a worker"},
      {"memory", kBytes, "0", "memory of a worker, cache and all; 0: 2G for each core"},
      {"cache", kBytes, "0", "memory cache of a worker"},
      {"resources", kText, "", "more resources of a worker, of the cluster's own: NAME=AMOUNT,..."},
      {"labels", kText, "", "nodes with these labels alone: NAME=VALUE,NAME=VALUE"},
      {"program", kText, "", "headrace on the nodes; empty: the path of this one"},
      {"export", kText, "", "variables that workers get besides HEADRACE_*: NAME,NAME"},
      {"at-stop", kText, kRayEnd,
       "what a coordinator that ends does with its workers: end or keep"},
  };
}

}  // namespace
}  // namespace coordinator

void RegisterPoolRay(coordinator::PoolRegistry& registry) {
  registry.Register({.name = "ray",
                     .summary = "actors of a Ray cluster",
                     .settings = coordinator::RaySettingsOfUsers(),
                     .make = coordinator::MakeRayPool});
}

}  // namespace headrace
