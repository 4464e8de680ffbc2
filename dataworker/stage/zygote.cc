#include "dataworker/stage/zygote.h"

#include <array>
#include <cstring>
#include <utility>

#include "base/log.h"

namespace headrace::dataworker {

Zygote::Zygote(net::Reactor& reactor, StageBases& bases, FrameSocket control, Events events)
    : reactor_(reactor), bases_(bases), control_(std::move(control)), events_(std::move(events)) {}

Result<std::unique_ptr<Zygote>> Zygote::Start(net::Reactor& reactor, StageBases& bases,
                                              const StageBases::Options& options,
                                              const BlobContent& bundle, int door, Events events) {
  HR_TRY(auto pair, FrameSocket::MakePair());
  std::unique_ptr<Zygote> zygote(
      new Zygote(reactor, bases, std::move(pair.first), std::move(events)));
  Zygote* raw = zygote.get();
  StageBases::Events of_process;
  of_process.on_started = [raw](std::int64_t pid) { raw->pid_ = pid; };
  of_process.on_ended = [raw](const std::string& how) { raw->OnEnded(how); };
  HR_TRY(raw->session_,
         bases.Begin(options, bundle, std::move(pair.second), door, std::move(of_process)));
  reactor.WatchFd(raw->control_.fd(), [raw] { raw->OnReadable(); });
  raw->watching_ = true;
  return zygote;
}

Zygote::~Zygote() {
  if (watching_) reactor_.UnwatchFd(control_.fd());
  if (session_ != 0) bases_.End(session_);  // hosts die with it (PR_SET_PDEATHSIG)
}

Result<std::optional<StageHosts::Begun>> Zygote::Begin(std::uint64_t host, const Lane& /*lane*/) {
  HR_TRY(auto pair, FrameSocket::MakePair());
  const std::array<ByteSpan, 1> parts{std::as_bytes(std::span(&host, 1))};
  const Status sent = control_.Send(StageMessage::kFork, parts, std::array{pair.second.get()});
  if (!sent.ok()) {
    OnHangup();
    return sent;
  }
  return std::optional(Begun{.socket = std::move(pair.first)});
}

void Zygote::OnReadable() {
  const Status status = control_.Receive([this](StageFrame&& frame) { OnFrame(frame); });
  if (!status.ok()) OnHangup();
}

void Zygote::OnHangup() {
  if (!watching_) return;
  reactor_.UnwatchFd(control_.fd());
  watching_ = false;
  bases_.Kill(session_);  // a silent one serves nobody either
}

void Zygote::OnEnded(const std::string& how) {
  if (watching_) OnReadable();  // what it said before it ended
  if (watching_) OnHangup();
  session_ = 0;
  pid_ = 0;
  events_.on_lost(how);
}

void Zygote::OnFrame(const StageFrame& frame) {
  const auto number = [&](std::size_t part) {
    std::uint64_t value = 0;
    if (frame.parts[part].size() == sizeof(value)) {
      std::memcpy(&value, frame.parts[part].data(), sizeof(value));
    }
    return value;
  };
  if (frame.kind == StageMessage::kReady && frame.parts.size() == 1) {
    if (std::exchange(ready_, true)) return;  // of one that died and was begun again
    bases_.MarkBegun(session_);
    const std::string problem(AsText(frame.parts[0]));
    Status status;
    if (!problem.empty()) {
      status = Unsupported("the pipeline can't be loaded on this worker: " + problem);
    }
    events_.on_ready(status);
  } else if (frame.kind == StageMessage::kForked && frame.parts.size() == 2) {
    events_.on_forked(number(0), static_cast<std::int64_t>(number(1)));
  } else if (frame.kind == StageMessage::kEnded && frame.parts.size() == 2) {
    events_.on_ended(number(0), std::string(AsText(frame.parts[1])));
  } else {
    LogWarning("unknown frame of a stage host kind=" +
               std::to_string(static_cast<std::uint32_t>(frame.kind)));
  }
}

}  // namespace headrace::dataworker
