#include "trainer_client/session/worker_link.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/version.h"
#include "schemas/wire/host_identity.h"

namespace headrace::client {
namespace {

constexpr Duration kAttachAgain = std::chrono::seconds(2);
constexpr Duration kAttachRetry = std::chrono::milliseconds(50);
// Others have to end before a full worker has room. An attach carries the plan, which may be large.
constexpr Duration kRoomRetry = std::chrono::milliseconds(500);
constexpr int kMostRoomDoublings = 4;
constexpr Duration kPingAfter = std::chrono::seconds(1);
// The reactor of a live worker never computes, so it answers within milliseconds unless its machine
// is overloaded.
constexpr Duration kMuteAfter = std::chrono::seconds(5);
constexpr Duration kBlobRetry = std::chrono::milliseconds(5);
constexpr std::uint64_t kBlobPartBytes = std::uint64_t{1} << 20;
constexpr int kMostArenaRefusals = 20;

bool IsIpc(std::string_view endpoint) { return endpoint.starts_with("ipc://"); }

}  // namespace

bool SameProcess(const wire::WorkerInfo& a, const wire::WorkerInfo& b) {
  return a.host == b.host && a.endpoints == b.endpoints && a.arena_path == b.arena_path;
}

Result<std::unique_ptr<WorkerLink>> WorkerLink::Open(net::Reactor& reactor, LinkContext& context,
                                                     wire::WorkerInfo worker, Events events) {
  std::unique_ptr<WorkerLink> link(
      new WorkerLink(reactor, context, std::move(worker), std::move(events)));
  HR_RETURN_IF_ERROR(link->Connect());
  return link;
}

WorkerLink::~WorkerLink() {
  if (blob_timer_ != 0) reactor_.CancelTimer(blob_timer_);
  if (attach_timer_ != 0) reactor_.CancelTimer(attach_timer_);
  if (socket_ && state_ != State::kGone) (void)socket_->Send({}, wire::Detach{context_.session});
}

Status WorkerLink::Connect() {
  const bool same_host = wire::SameHost(worker_.host, context_.host);
  std::string endpoint;
  for (const std::string& candidate : worker_.endpoints) {
    if (IsIpc(candidate) && (!same_host || !context_.allow_arena)) continue;
    endpoint = candidate;
    break;
  }
  // A worker that has nothing but an ipc socket is on this host.
  if (endpoint.empty() && !worker_.endpoints.empty() && same_host) {
    endpoint = worker_.endpoints.front();
  }
  if (endpoint.empty()) {
    return Unavailable("worker " + std::to_string(worker_.worker.value) + " on " +
                       worker_.host.hostname + " has no address that this host can reach");
  }
  net::SocketEvents events;
  events.on_message = [this](net::Incoming&& incoming) { OnMessage(std::move(incoming)); };
  events.on_invalid = [this](const std::string&, const Status& error) {
    LogWarning("bad message worker=" + std::to_string(worker_.worker.value) + " error=\"" +
               error.ToString() + "\"");
    if (error.code() == Code::kOtherRelease) Refused(error);
  };
  const bool shares = same_host && context_.allow_arena && !worker_.arena_path.empty();
  const Status unshared = Unsupported(
      "worker " + std::to_string(worker_.worker.value) + " on " + worker_.host.hostname +
      " shares no memory with this process, whose code runs on this host alone");
  if (!shares) events.on_disconnected = [this] { OnDisconnected(); };
  events.server = wire::Role::kWorker;
  HR_TRY(socket_, reactor_.ConnectDealer(endpoint, std::move(events)));
  heard_ = reactor_.clock().Now();
  if (same_host && context_.allow_arena) ConnectArena();
  if (context_.plan.has_python_stage && !given_lanes() && !context_.plan.python.bundle.valid()) {
    if (!shares) return unshared;
    // A worker that was just killed looks the same. Until one answers, it is not attached.
    unshared_ = unshared;
    lost_ = true;
    Ping();
    return Status::Ok();
  }
  SendAttach();
  return Status::Ok();
}

// A worker without the lanes has said something: its channel is tried once more. Who answers may be
// another process, which was started at the address of a killed one. So it is not refused for good:
// the session links to whoever is leased there later.
void WorkerLink::OnAlive() {
  ConnectArena();
  if (given_lanes()) {
    unshared_ = Status::Ok();
    SendAttach();
    return;
  }
  LogInfo(unshared_.message());
  SetState(State::kGone);
}

void WorkerLink::Ping() {
  pinged_ = reactor_.clock().Now();
  (void)socket_->Send({}, wire::Ping{++pings_});
}

void WorkerLink::ConnectArena() {
  if (worker_.arena_path.empty()) return;
  if (context_.gives_lanes && worker_.version != kVersion) return;  // may not know what a lane is
  auto channel = net::DescriptorConnection::Connect(reactor_, worker_.arena_path,
                                                    [this] { SetState(State::kGone); });
  if (!channel.ok()) {
    LogDebug("no descriptor channel error=\"" + channel.status().ToString() + "\"");
    return;
  }
  net::DescriptorMessage message;
  message.session = context_.session;
  message.bytes = context_.arena->size();
  const Status sent = (*channel)->Send(message, context_.arena->fd());
  if (!sent.ok()) {
    LogWarning("arena not passed error=\"" + sent.ToString() + "\"");
    return;
  }
  channel_ = std::move(channel).value();
  offered_arena_ = true;
  GiveLanes();
}

void WorkerLink::GiveLanes() {
  if (!channel_ || !given_lanes()) return;
  const LaneProcesses& lanes = context_.lanes;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    const Result<UniqueFd> socket = lanes.Connect(lane);
    net::DescriptorMessage message;
    message.kind = net::DescriptorMessage::Kind::kLane;
    message.session = context_.session;
    message.lane = static_cast<std::int32_t>(lane);
    message.lane_set = lanes.set();
    message.pid = lanes.pid(lane);
    const Status sent = socket.ok() ? channel_->Send(message, socket->get()) : socket.status();
    if (!sent.ok()) {  // the worker would wait for the lane for ever
      LogWarning("worker left worker=" + std::to_string(worker_.worker.value) + " error=\"" +
                 sent.ToString() + "\"");
      Leave();
      return;
    }
  }
}

void WorkerLink::SendAttach() {
  wire::Attach attach;
  attach.request = ++request_;
  attach.session = context_.session;
  attach.job = context_.job;
  attach.host = context_.host;
  attach.use_arena = offered_arena_;
  attach.plan = context_.plan;
  attach.split = context_.split;
  attach.cache_bytes = context_.cache_bytes;
  attach.lanes_given = given_lanes();
  attach.pass = worker_.pass;
  attach_sent_ = reactor_.clock().Now();
  if (!asked_) asked_ = attach_sent_;
  (void)socket_->Send({}, attach);  // asked again by Tick
}

void WorkerLink::AttachLater(Duration delay) {
  if (attach_timer_ != 0) return;
  attach_timer_ = reactor_.AddOnce(delay, [this] {
    attach_timer_ = 0;
    if (state_ == State::kAttaching && unshared_.ok()) SendAttach();
  });
}

void WorkerLink::Reattach() {
  if (state_ == State::kGone || state_ == State::kAttaching || closing_) return;
  blobs_.clear();
  SetState(State::kAttaching);
  AttachLater(kAttachRetry);
}

void WorkerLink::Withdraw(Status why) {
  if (state_ == State::kGone || closing_) return;
  (void)socket_->Send({}, wire::Detach{context_.session});
  Refused(std::move(why));
}

void WorkerLink::SetState(State state) {
  if (state_ == state || state_ == State::kGone) return;
  state_ = state;
  events_.on_state(worker_.worker, state);
}

// Takes back what the worker has of the session. The worker's release of it ends the link.
void WorkerLink::Refused(Status why) {
  if (state_ == State::kGone || closing_) return;
  refusal_ = std::move(why);
  Leave();
}

// Without a refusal the session links to the worker again later.
void WorkerLink::Leave() {
  if (state_ == State::kGone || closing_) return;
  if (!channel_) {
    SetState(State::kGone);
    return;
  }
  closing_ = true;
  channel_->Finish();
  SetState(State::kSuspected);
}

// The kernel knows of a dead process at once; its silence would tell seconds later. A worker with the
// arena hangs up on its channel, and only that says that it writes no more.
void WorkerLink::OnDisconnected() {
  if (state_ == State::kGone || closing_ || offered_arena_) return;
  lost_ = true;
  if (state_ == State::kAttaching) {
    AttachLater(kAttachRetry);
  } else if (context_.making() == Making::kFreely) {
    events_.on_lost(worker_.worker);
  }
}

void WorkerLink::OnMessage(net::Incoming&& incoming) {
  if (state_ == State::kGone) return;
  heard_ = reactor_.clock().Now();
  lost_ = false;
  if (!unshared_.ok()) {
    OnAlive();
    return;
  }
  if (state_ == State::kSuspected && !closing_) SetState(State::kReady);
  if (const auto* attached = std::get_if<wire::Attached>(&incoming.body)) {
    OnAttached(*attached);
  } else if (const auto* ping = std::get_if<wire::Ping>(&incoming.body)) {
    (void)socket_->Send({}, wire::Pong{ping->sequence});
  } else if (std::holds_alternative<wire::BatchDone>(incoming.body) ||
             std::holds_alternative<wire::Described>(incoming.body)) {
    events_.on_message(worker_.worker, std::move(incoming));
  }
}

void WorkerLink::OnAttached(const wire::Attached& attached) {
  if (attached.session != context_.session || attached.request != request_) return;
  asked_.reset();
  if (state_ != State::kAttaching) {
    OnOutcome(attached.status);
    return;
  }
  const Code code = attached.status.code();
  no_room_ = code == Code::kResourceExhausted ? attached.status : Status::Ok();
  if (!attached.status.ok()) {
    if (code == Code::kNotFound || code == Code::kUnavailable) {
      AttachLater(kAttachRetry);  // it has not heard of the job yet
      return;
    }
    if (code == Code::kResourceExhausted) {
      AttachLater(kRoomRetry * (1 << std::min(full_++, kMostRoomDoublings)));
      return;
    }
    Refused(attached.status);
    return;
  }
  full_ = 0;
  // The descriptor travels beside the message and may come a moment later.
  if (offered_arena_ && !attached.use_arena && ++arena_refusals_ < kMostArenaRefusals) {
    AttachLater(kBlobRetry);
    return;
  }
  if (given_lanes() && !attached.use_arena) {
    SetState(State::kGone);  // it has lost the lanes with the arena: begins again
    return;
  }
  uses_arena_ = attached.use_arena;
  for (const BlobHash hash : attached.needed_blobs) {
    if (context_.blobs->Find(hash) == nullptr) {
      Refused(Internal("the plan names blob " + std::to_string(hash.value) +
                       ", which the session was not given"));
      return;
    }
    blobs_.push_back({hash});
  }
  SetState(State::kReady);
  if (blobs_.empty()) events_.on_loaded();
  SendBlobs();
}

// Handles what became of the plan after its blobs had come.
void WorkerLink::OnOutcome(const Status& status) {
  switch (status.code()) {
    case Code::kOk:
      events_.on_loaded();
      break;
    case Code::kNotFound:  // of these the answers to requests say what to do
    case Code::kUnavailable:
      break;
    case Code::kResourceExhausted:  // it would refuse each batch, and so always be the least busy
      Leave();
      break;
    default:
      refusal_ = status;
      SetState(State::kGone);
  }
}

void WorkerLink::SendBlobs() {
  while (!blobs_.empty()) {
    const Blob& blob = *context_.blobs->Find(blobs_.front().hash);
    const Status sent = SendBlob(blobs_.front().hash, blob);
    if (!sent.ok()) {  // a full queue
      blob_timer_ = reactor_.AddOnce(kBlobRetry, [this] {
        blob_timer_ = 0;
        SendBlobs();
      });
      return;
    }
    if (blobs_.front().offset >= blob.data.size()) blobs_.pop_front();
  }
}

// Sends the front blob, or its next part.
Status WorkerLink::SendBlob(BlobHash hash, const Blob& blob) {
  Sending& sending = blobs_.front();
  if (uses_arena_ && channel_ && !blob.data.empty()) {
    const Result<int> fd = context_.blobs->Descriptor(hash);
    if (fd.ok()) {
      net::DescriptorMessage message;
      message.kind = net::DescriptorMessage::Kind::kBlob;
      message.session = context_.session;
      message.hash = hash;
      message.bytes = blob.data.size();
      HR_RETURN_IF_ERROR(channel_->Send(message, *fd));
      sending.offset = blob.data.size();
      return Status::Ok();
    }
    LogWarning("blob goes in messages error=\"" + fd.status().ToString() + "\"");
  }
  wire::BlobPart part;
  part.session = context_.session;
  part.hash = hash;
  part.total_bytes = blob.data.size();
  part.offset = sending.offset;
  const ByteSpan bytes = blob.data.subspan(
      sending.offset, std::min<std::size_t>(kBlobPartBytes, blob.data.size() - sending.offset));
  HR_RETURN_IF_ERROR(socket_->Send({}, part, {{bytes, blob.owner}}));
  sending.offset += bytes.size();
  return Status::Ok();
}

bool WorkerLink::mute() const {
  if (state_ == State::kGone || closing_) return false;
  return lost_ || reactor_.clock().Now() - heard_ >= kMuteAfter;
}

bool WorkerLink::loading() const {
  const SteadyTime now = reactor_.clock().Now();
  return state_ == State::kAttaching && asked_ && heard_ > *asked_ && now - heard_ < kMuteAfter;
}

void WorkerLink::Tick() {
  if (state_ == State::kGone || closing_) return;
  const SteadyTime now = reactor_.clock().Now();
  if (state_ == State::kAttaching) {
    if (attach_timer_ == 0 && unshared_.ok() && now - attach_sent_ >= kAttachAgain) SendAttach();
  } else if (now - heard_ >= kMuteAfter) {
    SetState(State::kSuspected);
  }
  if (now - heard_ >= kPingAfter && now - pinged_ >= kPingAfter) Ping();
}

}  // namespace headrace::client
