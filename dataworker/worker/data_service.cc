#include "dataworker/worker/data_service.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/pass/pass.h"
#include "base/secret.h"
#include "dataworker/session/leaf_neighbours.h"
#include "dataworker/share/files_ahead.h"
#include "dataworker/share/pictures_from_disk.h"

namespace headrace::dataworker {
namespace {

constexpr std::uint64_t kMostPayloadBytes = std::uint64_t{2} << 30;
constexpr std::uint64_t kKeptPayloadBytes = std::uint64_t{256} << 20;
constexpr std::size_t kMostEarlyArenas = 64;
// A peer that does not read for this long has lost its answers; it asks again if it lives.
constexpr Duration kSendFor = std::chrono::seconds(30);
constexpr Duration kComplainEvery = std::chrono::seconds(1);
constexpr Duration kSendAgainAfter = std::chrono::milliseconds(5);

std::string SessionText(SessionId session) { return "session " + std::to_string(session.value); }

// Whether another session may attach beside those of `jobs`, one entry for each session.
Status CheckRoom(const Quotas& quotas, const std::multiset<JobId>& jobs,
                 const wire::Attach& attach) {
  const std::size_t of_job = jobs.count(attach.job);
  HR_RETURN_IF_ERROR(Quotas::CheckRoom(quotas.sessions, jobs.size() + 1));
  HR_RETURN_IF_ERROR(Quotas::CheckRoom(quotas.sessions_of_a_job, of_job + 1));
  const std::set<JobId> each(jobs.begin(), jobs.end());
  if (of_job == 0) HR_RETURN_IF_ERROR(Quotas::CheckRoom(quotas.jobs, each.size() + 1));
  std::uint64_t keys = 0;
  for (const SourceLeaf& leaf : attach.plan.leaves) {
    keys += static_cast<std::uint64_t>(std::max<std::int64_t>(leaf.rows, 0));
  }
  return quotas.keys.Check(keys);
}

}  // namespace

DataService::DataService(const Parts& parts)
    : reactor_(parts.reactor),
      payloads_(kMostPayloadBytes, kKeptPayloadBytes, parts.memory),
      pictures_(parts.memory, parts.reactor.clock(), [this] { payloads_.Trim(); }),
      leaves_(parts.cache),
      neighbours_(parts.reactor),
      ahead_(std::make_shared<FilesAhead>(parts.io, parts.io.most_threads(),
                                          FilesAhead::FromDisk(parts.limits.allowed_roots))),
      decoded_ahead_(std::make_shared<PicturesAhead>(
          PicturesAhead::Parts{.threads = parts.memory ? parts.executor.concurrency() - 1 : 0,
                               .memory = parts.memory,
                               .decoder = PicturesFromDisk(parts.limits.allowed_roots),
                               .now = [&clock = parts.reactor.clock()] { return clock.Now(); }})),
      bases_(parts.reactor),
      ledger_(parts.queue, *parts.cache, parts.executor.concurrency()),
      orders_(*parts.cache),
      environment_{
          .reactor = parts.reactor,
          .executor = parts.executor,
          .queue = parts.queue,
          .sources = parts.sources,
          .io = parts.io,
          .objects = parts.objects,
          .reads = parts.reads,
          .cache = parts.cache,
          .peers = parts.peers,
          .blobs = blobs_,
          .payloads = payloads_,
          .memory = parts.memory,
          .pictures = pictures_,
          .losses = losses_,
          .leaves = leaves_,
          .neighbours = neighbours_,
          .ahead = *ahead_,
          .decoded_ahead = *decoded_ahead_,
          .bases = bases_,
          .ledger = ledger_,
          .host = parts.host,
          .limits = parts.limits,
          .send =
              [this](const std::string& peer, wire::Body body,
                     std::vector<net::PayloadFrame> payload) {
                Send(peer, std::move(body), std::move(payload));
              },
          .stage_cores = [this](JobId job) { return ledger_.StageCores(job, Attached()); }},
      token_(parts.token),
      coordinator_(parts.coordinator),
      desk_({parts.reactor, parts.executor, parts.cache, parts.token, environment_.send}) {}

DataService::~DataService() { CloseSessions(); }

void DataService::CloseSessions() {
  ahead_->Stop();
  decoded_ahead_->Stop();
  for (const auto& [id, session] : sessions_) session->Close();
}

Status DataService::Listen(const std::string& endpoint, const std::string& base) {
  net::SocketEvents events;
  events.on_message = [this](net::Incoming&& incoming) { OnMessage(std::move(incoming)); };
  events.on_invalid = [this](const std::string& /*peer*/, const Status& error) {
    const SteadyTime now = reactor_.clock().Now();
    if (complained_ && now - *complained_ < kComplainEvery) return;
    complained_ = now;
    LogWarning("message refused: " + error.ToString());
  };
  HR_TRY(socket_, reactor_.BindRouter(endpoint, std::move(events)));
  HR_TRY(descriptors_,
         net::DescriptorListener::Listen(
             reactor_, base + ".arena",
             [this](std::uint64_t connection, const net::DescriptorMessage& message, UniqueFd fd) {
               OnDescriptor(connection, message, std::move(fd));
             },
             [this](std::uint64_t connection) { OnHangup(connection); }));
  neighbour_desk_ =
      JoinNeighbours(reactor_, base, environment_.host, coordinator_, leaves_, neighbours_);
  return {};
}

bool DataService::idle() const {
  return unsent_.empty() && std::all_of(sessions_.begin(), sessions_.end(), [](const auto& entry) {
           return entry.second->outstanding() == 0;
         });
}

std::vector<JobId> DataService::jobs() const {
  std::vector<JobId> jobs;
  for (const auto& [id, session] : sessions_) jobs.push_back(session->attachment().job());
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  return jobs;
}

std::vector<std::int64_t> DataService::pids() const {
  std::vector<std::int64_t> pids = bases_.pids();
  for (const auto& [id, session] : sessions_) {
    const std::vector<std::int64_t> of_session = session->stage().pids();
    pids.insert(pids.end(), of_session.begin(), of_session.end());
  }
  return pids;
}

Session* DataService::Find(const std::string& peer, SessionId session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end() || found->second->attachment().peer() != peer) return nullptr;
  found->second->attachment().Heard();
  return found->second.get();
}

void DataService::End(SessionId id) {
  early_arenas_.erase(id);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  found->second->Close();
  sessions_.erase(found);
  if (sessions_.empty()) payloads_.Trim();
}

std::vector<JobLedger::Attached> DataService::Attached() const {
  std::vector<JobLedger::Attached> attached;
  attached.reserve(sessions_.size());
  for (const auto& [id, session] : sessions_) {
    attached.push_back({.job = session->attachment().job(),
                        .since = session->attachment().since(),
                        .stage_batches = session->stage().outstanding(),
                        .stage_samples = session->stage().queued_samples()});
  }
  return attached;
}

std::uint64_t DataService::queued_stage_samples() const {
  std::uint64_t samples = 0;
  for (const auto& [id, session] : sessions_) {
    samples += static_cast<std::uint64_t>(session->stage().queued_samples());
  }
  return samples;
}

std::vector<wire::JobUsage> DataService::Usage() {
  for (const auto& [id, session] : sessions_) session->stage().CountCpu();
  decoded_ahead_->GiveBack();
  std::vector<wire::JobUsage> usage = ledger_.Usage(Attached());
  for (wire::JobUsage& job : usage) job.queued_samples += environment_.reads->waiting_rows(job.job);
  return usage;
}

void DataService::OnDirective(const wire::WorkerDirective& directive,
                              std::optional<SteadyTime> asked) {
  if (asked) EndAbandoned(directive.jobs, *asked);
  ledger_.OnDirective(directive, asked, Attached());
  desk_.OnDirective(directive);
  fills_ = directive.fills;
  const bool again = orders_.OnDirective(directive);
  for (const auto& [id, session] : sessions_) Fill(*session, again);
  environment_.reads->Wake();  // a limit may have changed
}

void DataService::Fill(Session& session, bool again) const {
  const auto order = std::ranges::find(fills_, session.attachment().job(), &wire::FillOrder::job);
  session.fill().Follow(order == fills_.end() ? wire::FillOrder() : *order);
  if (again) session.fill().Restart();
}

void DataService::EndAbandoned(const std::vector<JobId>& jobs, SteadyTime asked) {
  std::vector<SessionId> abandoned;
  for (const auto& [id, session] : sessions_) {
    const bool leased =
        std::find(jobs.begin(), jobs.end(), session->attachment().job()) != jobs.end();
    if (session->Abandoned(leased, asked)) abandoned.push_back(id);
  }
  for (const SessionId id : abandoned) {
    LogWarning(SessionText(id) + " ended: its trainer is silent and its job has no lease here");
    End(id);
  }
}

void DataService::OnMessage(net::Incoming&& incoming) {
  const std::string& peer = incoming.peer;
  if (auto* request = std::get_if<wire::BatchRequest>(&incoming.body)) {
    OnBatchRequest(peer, std::move(*request));
  } else if (auto* describe = std::get_if<wire::Describe>(&incoming.body)) {
    OnDescribe(peer, std::move(*describe));
  } else if (const auto* find = std::get_if<wire::PeerFind>(&incoming.body)) {
    desk_.OnFind(peer, *find);
  } else if (const auto* put = std::get_if<wire::PeerPut>(&incoming.body)) {
    desk_.OnPut(incoming, *put);
  } else if (const auto* attach = std::get_if<wire::Attach>(&incoming.body)) {
    OnAttach(peer, *attach, incoming.from_this_user);
  } else if (const auto* part = std::get_if<wire::BlobPart>(&incoming.body)) {
    if (Session* session = Find(peer, part->session)) session->OnBlobPart(*part, incoming.payload);
  } else if (const auto* cancel = std::get_if<wire::CancelIterations>(&incoming.body)) {
    if (Session* session = Find(peer, cancel->session)) session->OnCancel(cancel->before);
  } else if (const auto* detach = std::get_if<wire::Detach>(&incoming.body)) {
    if (Find(peer, detach->session) != nullptr) End(detach->session);
  } else if (const auto* ping = std::get_if<wire::Ping>(&incoming.body)) {
    for (const auto& [id, session] : sessions_) {
      if (session->attachment().peer() == peer) session->attachment().Heard();
    }
    Send(peer, wire::Pong{ping->sequence}, {});
  }
}

void DataService::OnAttach(const std::string& peer, const wire::Attach& attach, bool here) {
  const auto refuse = [&](Status why) {
    Send(peer,
         wire::Attached{
             .request = attach.request, .session = attach.session, .status = std::move(why)},
         {});
  };
  if (!token_.empty() && !SameSecret(attach.pass, PassOf(token_, attach.job))) {
    return refuse(
        NoSession("job " + std::to_string(attach.job.value) + " has no pass for this worker"));
  }
  auto existing = sessions_.find(attach.session);
  if (existing != sessions_.end() && !existing->second->attachment().SamePlan(attach)) {
    End(attach.session);
    existing = sessions_.end();
  }
  if (existing == sessions_.end()) {
    std::multiset<JobId> attached;
    for (const auto& [id, session] : sessions_) attached.insert(session->attachment().job());
    if (Status room = CheckRoom(environment_.limits.quotas, attached, attach); !room.ok()) {
      return refuse(std::move(room));
    }
    if (draining_) return refuse(Unavailable("this worker is leaving"));
    existing =
        sessions_.emplace(attach.session, std::make_shared<Session>(environment_, attach)).first;
  }
  if (const auto early = early_arenas_.find(attach.session); early != early_arenas_.end()) {
    existing->second->memory().SetArena(early->second.connection, std::move(early->second.arena));
    here = true;  // only this user passes a descriptor
    for (SessionStage::GivenLane& given : early->second.lanes) {
      existing->second->stage().OnLane(std::move(given));
    }
    early_arenas_.erase(early);
  }
  if (here) existing->second->attachment().KnowHere();
  existing->second->Attach(peer, attach);
  Fill(*existing->second, false);
}

void DataService::OnBatchRequest(const std::string& peer, wire::BatchRequest request) {
  if (Session* session = Find(peer, request.session)) {
    session->OnBatchRequest(std::move(request));
    return;
  }
  wire::BatchDone answer;
  answer.session = request.session;
  answer.iteration = request.iteration;
  answer.batch = request.batch;
  answer.attempt = request.attempt;
  answer.status = NoSession(SessionText(request.session) + " is not attached");
  Send(peer, std::move(answer), {});
}

void DataService::OnDescribe(const std::string& peer, wire::Describe request) {
  if (Session* session = Find(peer, request.session)) {
    session->OnDescribe(std::move(request));
    return;
  }
  wire::Described answer;
  answer.request = request.request;
  answer.session = request.session;
  answer.status = NoSession(SessionText(request.session) + " is not attached");
  Send(peer, std::move(answer), {});
}

void DataService::OnDescriptor(std::uint64_t connection, const net::DescriptorMessage& message,
                               UniqueFd fd) {
  const auto session = sessions_.find(message.session);
  if (message.kind == net::DescriptorMessage::Kind::kBlob) {
    if (session != sessions_.end()) {
      session->second->OnBlobDescriptor(message.hash, fd, message.bytes);
    }
    return;
  }
  if (message.kind == net::DescriptorMessage::Kind::kLane) {
    SessionStage::GivenLane given{.lane = {.lane = message.lane, .set = message.lane_set},
                                  .socket = std::move(fd),
                                  .pid = message.pid};
    if (session != sessions_.end()) {
      session->second->stage().OnLane(std::move(given));
    } else if (const auto early = early_arenas_.find(message.session);
               early != early_arenas_.end() &&
               early->second.lanes.size() < SessionStage::kMostEarlyLanes) {
      early->second.lanes.push_back(std::move(given));
    }
    return;
  }
  Result<UniqueFd> channel = descriptors_->Hold(connection);
  Result<std::shared_ptr<ArenaMap>> arena =
      channel.ok() ? ArenaMap::Map(std::move(fd), message.bytes, std::move(channel).value())
                   : channel.status();
  if (!arena.ok()) {
    LogWarning("arena refused error=\"" + arena.status().ToString() + "\"");
    return;
  }
  if (session != sessions_.end()) {
    session->second->memory().SetArena(connection, std::move(arena).value());
    session->second->attachment().KnowHere();
  } else if (early_arenas_.size() < kMostEarlyArenas) {
    early_arenas_[message.session] = {connection, std::move(arena).value(), {}};
  }
}

void DataService::OnHangup(std::uint64_t connection) {
  std::erase_if(early_arenas_,
                [&](const auto& entry) { return entry.second.connection == connection; });
  std::vector<SessionId> ended;
  for (const auto& [id, session] : sessions_) {
    if (session->memory().HasArenaOf(connection)) ended.push_back(id);
  }
  for (const SessionId id : ended) End(id);
}

void DataService::Send(const std::string& peer, wire::Body body,
                       std::vector<net::PayloadFrame> payload) {
  const Status status = socket_->Send(peer, body, payload);
  if (status.ok() || status.code() == Code::kNotFound) return;  // no peer is left to tell it
  if (status.code() != Code::kUnavailable) {
    LogWarning("answer dropped error=\"" + status.ToString() + "\"");
    return;
  }
  unsent_.push_back({peer, std::move(body), std::move(payload), reactor_.clock().Now()});
  if (send_timer_ == 0) send_timer_ = reactor_.AddTimer(kSendAgainAfter, [this] { SendAgain(); });
}

void DataService::SendAgain() {
  const SteadyTime now = reactor_.clock().Now();
  std::deque<Unsent> unsent;
  unsent.swap(unsent_);
  std::set<std::string> blocked;  // keeps the order of what one peer gets
  for (Unsent& item : unsent) {
    if (now - item.since > kSendFor) continue;
    if (blocked.contains(item.peer) ||
        socket_->Send(item.peer, item.body, item.payload).code() == Code::kUnavailable) {
      blocked.insert(item.peer);
      unsent_.push_back(std::move(item));
    }
  }
  if (unsent_.empty()) {
    reactor_.CancelTimer(send_timer_);
    send_timer_ = 0;
  }
}

}  // namespace headrace::dataworker
