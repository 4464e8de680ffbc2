#include "dataworker/stage/stage_bases.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"
#include "dataworker/stage/python_process.h"
#include "dataworker/stage/stage_request.h"

namespace headrace::dataworker {
namespace {

constexpr Duration kReapAgain = std::chrono::milliseconds(5);
constexpr std::size_t kMostAlone = 64;

// A path that is not UTF-8 does not throw; it is not found then.
std::string Text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

ByteSpan NumberBytes(const std::uint64_t& number) { return std::as_bytes(std::span(&number, 1)); }

bool SameInterpreter(const StageBases::Options& a, const StageBases::Options& b) {
  return a.executable == b.executable && a.job == b.job && a.confinement == b.confinement &&
         a.stage.version == b.stage.version && a.stage.sys_path == b.stage.sys_path &&
         a.stage.working_directory == b.stage.working_directory &&
         a.stage.packages == b.stage.packages && a.stage.hash_seed == b.stage.hash_seed;
}

}  // namespace

StageBases::~StageBases() {
  while (!bases_.empty()) {
    const auto pid = static_cast<pid_t>(bases_.begin()->second.pid);
    Discard(bases_.begin()->first);
    ::waitpid(pid, nullptr, 0);  // so that its CPU time counts as this process's
  }
}

void StageBases::Warm(const Options& options) {
  if (Find(options) != 0) return;
  if (const auto base = Spawn(options); base.ok()) WhenIdle(*base);  // Begin says what is wrong
}

Result<std::uint64_t> StageBases::Begin(const Options& options, const BlobContent& bundle,
                                        UniqueFd theirs, int door, Events events) {
  Session session;
  session.door = door;
  session.events = std::move(events);
  HR_TRY(session.bundle, MemoryFile("headrace-bundle", *bundle));
  session.theirs = std::move(theirs);
  const std::uint64_t id = next_++;
  std::uint64_t base = Find(options);
  if (base == 0 || !Hand(id, session, base).ok()) {  // it has died just now
    HR_TRY(base, Spawn(options));
    HR_RETURN_IF_ERROR(Hand(id, session, base));
  }
  sessions_.emplace(id, std::move(session));
  return id;
}

Status StageBases::Hand(std::uint64_t id, Session& session, std::uint64_t base) {
  Base& of = bases_.at(base);
  const std::string own = Text({{"alone", of.alone}});
  const std::array<ByteSpan, 2> parts{NumberBytes(id), AsBytes(own)};
  const std::array<int, 3> passed{session.theirs.get(), session.bundle.get(), session.door};
  const Status sent = of.control->Send(StageMessage::kSession, parts,
                                       std::span(passed).first(session.door < 0 ? 2 : 3));
  if (!sent.ok()) {
    OnHangup(base);
    return sent;
  }
  session.base = base;
  of.retired = of.alone;
  return {};
}

void StageBases::MarkBegun(std::uint64_t id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  found->second.theirs.reset();
  found->second.bundle.reset();
}

void StageBases::Kill(std::uint64_t id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  Base& base = bases_.at(found->second.base);
  if (base.became == id) {
    ::kill(static_cast<pid_t>(base.pid), SIGKILL);
    AwaitEnd(found->second.base);
  } else if (base.control) {
    const std::array<ByteSpan, 1> parts{NumberBytes(id)};
    if (!base.control->Send(StageMessage::kEnd, parts).ok()) OnHangup(found->second.base);
  }
}

void StageBases::End(std::uint64_t id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  Kill(id);
  const std::uint64_t base = found->second.base;
  sessions_.erase(found);
  WhenIdle(base);
}

std::vector<std::int64_t> StageBases::pids() const {
  std::vector<std::int64_t> pids;
  for (const auto& [id, base] : bases_) {
    if (base.became == 0) pids.push_back(base.pid);
  }
  return pids;
}

std::uint64_t StageBases::Find(const Options& options) const {
  const auto found = std::ranges::find_if(bases_, [&](const auto& entry) {
    return !entry.second.retired && SameInterpreter(entry.second.options, options);
  });
  return found == bases_.end() ? 0 : found->first;
}

Result<std::uint64_t> StageBases::Spawn(const Options& options) {
  HR_TRY(auto pair, FrameSocket::MakePair());
  Base base;
  base.options = options;
  base.alone = IsAlone(options);
  HR_TRY(base.pid,
         SpawnPython(options.executable, options.stage, options.confinement, pair.second.get()));
  base.control = std::move(pair.first);
  const std::string settings = Text({{"version", options.stage.version},
                                     {"sys_path", options.stage.sys_path},
                                     {"working_directory", options.stage.working_directory},
                                     {"packages", options.stage.packages},
                                     {"hash_seed", options.stage.hash_seed}});
  const std::array<ByteSpan, 1> parts{AsBytes(settings)};
  if (Status sent = base.control->Send(StageMessage::kPrepare, parts); !sent.ok()) {
    KillPython(reactor_, base.pid);
    return sent;
  }
  const std::uint64_t id = next_++;
  reactor_.WatchFd(base.control->fd(), [this, id] { OnReadable(id); });
  bases_.emplace(id, std::move(base));
  return id;
}

bool StageBases::IsAlone(const Options& options) const {
  return std::ranges::any_of(alone_,
                             [&](const Options& one) { return SameInterpreter(one, options); });
}

void StageBases::MarkAlone(const Options& options) {
  if (IsAlone(options)) return;
  alone_.push_back(options);
  if (alone_.size() > kMostAlone) alone_.pop_front();
}

// User code has not run: it may begin elsewhere.
void StageBases::Move(std::uint64_t id) {
  Session& session = sessions_.at(id);
  session.moved = true;
  Options options = bases_.at(session.base).options;
  MarkAlone(options);
  const auto base = Spawn(options);
  const Status status = base.ok() ? Hand(id, session, *base) : base.status();
  if (!status.ok()) OnEnded(id, "its Python process could not start: " + status.message());
}

void StageBases::OnReadable(std::uint64_t id) {
  const auto found = bases_.find(id);
  if (found == bases_.end() || !found->second.control) return;
  std::vector<StageFrame> frames;
  const Status status = found->second.control->Receive(
      [&](StageFrame&& frame) { frames.push_back(std::move(frame)); });
  for (const StageFrame& frame : frames) {
    if (!bases_.contains(id)) return;
    OnFrame(id, frame);
  }
  if (!status.ok()) OnHangup(id);
}

void StageBases::OnFrame(std::uint64_t id, const StageFrame& frame) {
  const auto numbers =
      frame.parts.empty() ? std::vector<std::uint64_t>() : StageNumbers(frame.parts[0]);
  const auto found = sessions_.find(numbers.size() == 1 ? numbers[0] : 0);
  const bool ours = found != sessions_.end() && found->second.base == id;
  const std::uint64_t session = ours ? found->first : 0;
  if (frame.kind == StageMessage::kBecame && frame.parts.size() == 1) {
    OnBecame(id, session);
  } else if (frame.kind == StageMessage::kUnfit && frame.parts.size() == 1) {
    bases_.at(id).retired = true;
    if (ours) Move(session);
    WhenIdle(id);
  } else if (frame.kind == StageMessage::kForked && frame.parts.size() == 2) {
    const auto pid = StageNumbers(frame.parts[1]);
    if (!ours || pid.size() != 1) return;
    MarkBegun(session);
    found->second.events.on_started(static_cast<std::int64_t>(pid[0]));
  } else if (frame.kind == StageMessage::kEnded && frame.parts.size() == 2) {
    if (ours) OnEnded(session, std::string(AsText(frame.parts[1])));
  } else {
    LogWarning("unknown frame of a Python interpreter kind=" +
               std::to_string(static_cast<std::uint32_t>(frame.kind)));
  }
}

// `session` 0: it was ended meanwhile.
void StageBases::OnBecame(std::uint64_t id, std::uint64_t session) {
  Base& base = bases_.at(id);
  MarkAlone(base.options);
  base.retired = true;
  if (base.control) reactor_.UnwatchFd(base.control->fd());
  base.control.reset();
  if (session == 0) {
    Discard(id);
    return;
  }
  base.became = session;
  MarkBegun(session);
  sessions_.at(session).events.on_started(base.pid);
}

void StageBases::OnEnded(std::uint64_t id, const std::string& how) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  const Session session = std::move(found->second);
  sessions_.erase(found);
  session.events.on_ended(how);
  WhenIdle(session.base);
}

void StageBases::OnHangup(std::uint64_t id) {
  const auto found = bases_.find(id);
  if (found == bases_.end() || !found->second.control) return;
  Base& base = found->second;
  reactor_.UnwatchFd(base.control->fd());
  base.control.reset();
  base.retired = true;
  ::kill(static_cast<pid_t>(base.pid), SIGKILL);  // a silent one serves nobody either
  AwaitEnd(id);
}

void StageBases::AwaitEnd(std::uint64_t id) {
  Base& base = bases_.at(id);
  if (base.reap_timer == 0)
    base.reap_timer = reactor_.AddTimer(kReapAgain, [this, id] { Reap(id); });
}

void StageBases::Reap(std::uint64_t id) {
  Base& base = bases_.at(id);
  const std::string how = ReapPython(base.pid);
  if (how.empty()) return;
  reactor_.CancelTimer(base.reap_timer);  // its id stays: that pid may not be killed any more
  std::vector<std::uint64_t> lost;
  for (const auto& [session, of] : sessions_) {
    if (of.base == id) lost.push_back(session);
  }
  for (const std::uint64_t session : lost) {
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) continue;
    const bool begun = !found->second.theirs.valid();
    if (begun || found->second.moved) {
      OnEnded(session, how);
    } else {
      Move(session);
    }
  }
  Erase(id);
}

bool StageBases::IsIdle(std::uint64_t id) const {
  return std::ranges::none_of(sessions_,
                              [&](const auto& entry) { return entry.second.base == id; });
}

void StageBases::WhenIdle(std::uint64_t id) {
  const auto found = bases_.find(id);
  if (found == bases_.end() || found->second.reap_timer != 0 || !IsIdle(id)) return;
  if (found->second.retired) {
    Discard(id);
    return;
  }
  found->second.idle_since = reactor_.clock().Now();
  std::vector<std::uint64_t> idle;
  for (const auto& [other, base] : bases_) {
    if (!base.retired && IsIdle(other)) idle.push_back(other);
  }
  if (idle.size() > kMostIdle) {
    Discard(*std::ranges::min_element(
        idle, {}, [&](std::uint64_t one) { return bases_.at(one).idle_since; }));
  }
  if (idle_timer_ == 0) idle_timer_ = reactor_.AddTimer(idle_for_, [this] { EndIdle(); });
}

void StageBases::EndIdle() {
  std::vector<std::uint64_t> ended;
  for (const auto& [id, base] : bases_) {
    if (!base.retired && IsIdle(id) && reactor_.clock().Now() - base.idle_since >= idle_for_) {
      ended.push_back(id);
    }
  }
  for (const std::uint64_t id : ended) Discard(id);
}

// Kills it, and with it what it has forked.
void StageBases::Discard(std::uint64_t id) {
  const auto found = bases_.find(id);
  Base& base = found->second;
  if (base.control) reactor_.UnwatchFd(base.control->fd());
  if (base.reap_timer != 0) reactor_.CancelTimer(base.reap_timer);
  KillPython(reactor_, base.pid);
  Erase(id);
}

void StageBases::Erase(std::uint64_t id) {
  bases_.erase(id);
  if (bases_.empty() && idle_timer_ != 0) {
    reactor_.CancelTimer(idle_timer_);
    idle_timer_ = 0;
  }
}

}  // namespace headrace::dataworker
