#include "trainer_client/client/job_link.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/version.h"
#include "schemas/wire/unfit_workers.h"

namespace headrace::client {
namespace {

constexpr Duration kBeat = std::chrono::seconds(1);
// The interval while the coordinator has not answered yet.
constexpr Duration kAskAgain = std::chrono::milliseconds(250);
// Workers register again within some heartbeats of a coordinator's restart.
constexpr Duration kSettle = std::chrono::seconds(5);

// A line is said again after this long.
constexpr Duration kSayAgain = std::chrono::seconds(60);

Status Closed() { return Unavailable("the client is closed"); }

}  // namespace

Status JobLink::Connect() {
  net::SocketEvents events;
  events.on_message = [this](net::Incoming&& incoming) { OnMessage(incoming.body); };
  events.on_invalid = [this](const std::string&, const Status& error) {
    last_error_ = error;
    // The peer has another protocol, so asking again would not help.
    if (error.code() == Code::kOtherRelease && on_open_) std::exchange(on_open_, nullptr)(error);
    LogWarning("bad message of the coordinator error=\"" + error.ToString() + "\"");
  };
  HR_TRY(socket_, reactor_->ConnectDealer(setup_.endpoint, std::move(events)));
  return Status::Ok();
}

void JobLink::Start(OnOpen done) {
  on_open_ = std::move(done);
  if (const Status status = Connect(); !status.ok()) {
    std::exchange(on_open_, nullptr)(status);
    return;
  }
  SendOpenJob();
  timer_ = reactor_->AddTimer(kAskAgain, [this] { Beat(); });
}

void JobLink::Reconnect(const std::string& endpoint, std::shared_ptr<void> former) {
  if (closed_) return;
  former_ = std::move(former);
  setup_.endpoint = endpoint;
  job_ = JobId();
  job_request_ = 0;
  if (const Status status = Connect(); !status.ok()) {
    last_error_ = status;
    return;
  }
  SendOpenJob();
}

void JobLink::Shutdown() {
  if (closed_) return;
  closed_ = true;
  if (socket_) SendHeartbeat();  // what the job had since the last one
  for (const auto& [id, session] : sessions_) session->Shutdown();
  if (socket_ && job_.valid()) Send(wire::CloseJob{job_, setup_.token});
  sessions_.clear();
  for (auto& [id, opening] : std::exchange(opening_, {})) opening.done(Closed());
  for (auto& [request, done] : std::exchange(queries_, {})) done(Closed());
  if (timer_ != 0) reactor_->CancelTimer(timer_);
  socket_.reset();
  former_.reset();
}

void JobLink::Send(const wire::Body& body) {
  // The next beat asks again for whatever is lost.
  if (const Status sent = socket_->Send({}, body); !sent.ok()) last_error_ = sent;
}

void JobLink::SendOpenJob() {
  wire::OpenJob open;
  // Keeps the number until it is answered: an answer may take longer than the pause before the next
  // request.
  if (job_request_ == 0) job_request_ = ++next_request_;
  open.request = job_request_;
  open.token = setup_.token;
  open.name = setup_.job_name;
  open.host = setup_.host;
  open.version = kVersion;
  open.wanted_workers = setup_.workers;
  open.cache_bytes = setup_.cache_bytes;
  open.tenant = setup_.tenant;
  open.priority = setup_.priority;
  open.group = setup_.group;
  open.rank = setup_.rank;
  open.link_bytes_per_second = setup_.link_bytes_per_second;
  open.rack = setup_.rack;
  Send(open);
}

void JobLink::SendOpenSession(SessionId session, const Opening& opening) {
  wire::OpenSession open;
  open.request = opening.request;
  open.job = job_;
  open.session = session;
  open.plan = opening.plan;
  open.token = setup_.token;
  open.files = opening.files;
  open.warm = setup_.warm;
  Send(open);
}

void JobLink::OpenSession(SessionId session, Plan plan, std::vector<std::uint64_t> files,
                          OnSplit done) {
  if (closed_) {
    done(Closed());
    return;
  }
  const Opening& opening = opening_
                               .emplace(session, Opening{++next_request_, std::move(plan),
                                                         std::move(files), std::move(done)})
                               .first->second;
  if (job_.valid()) SendOpenSession(session, opening);
}

void JobLink::AddSession(std::shared_ptr<SessionPump> session,
                         std::optional<wire::WorkerInfo> only_worker) {
  if (closed_) {
    session->Shutdown();
    return;
  }
  session->SetJob(job_);
  session->Start(bad_);
  if (only_worker) {
    session->SetLeases({*std::move(only_worker)});
    leased_alone_.insert(session->id());
  } else {
    session->SetLeases(leased_);
  }
  sessions_.emplace(session->id(), std::move(session));
  SendHeartbeat();
}

void JobLink::QueryCluster(OnCluster done) {
  if (closed_) {
    done(Closed());
    return;
  }
  const std::uint64_t request = ++next_request_;
  queries_.emplace(request, std::move(done));
  Send(wire::StatusQuery{.request = request, .job = job_, .token = setup_.token});
}

void JobLink::CloseSession(SessionId session) {
  opening_.erase(session);
  const auto at = sessions_.find(session);
  if (at == sessions_.end()) return;
  SendHeartbeat();  // what the session had since the last one
  at->second->Shutdown();
  sessions_.erase(at);
  leased_alone_.erase(session);
  if (job_.valid()) Send(wire::CloseSession{job_, session, setup_.token});
}

void JobLink::Beat() {
  if (!job_.valid()) {
    SendOpenJob();
    return;
  }
  for (const auto& [session, opening] : opening_) SendOpenSession(session, opening);
  SendHeartbeat();
}

void JobLink::SendHeartbeat() {
  if (!job_.valid()) return;
  wire::ConsumerHeartbeat beat;
  beat.request = ++next_request_;
  beat.job = job_;
  beat.consumer = consumer_;
  beat.token = setup_.token;
  for (const auto& [id, session] : sessions_) {
    beat.sessions.push_back(session->Load());
    session->AddSuspects(beat.suspected);
    session->AddUnfit(beat.unfit);
    if (session->data_set() != 0) beat.data_sets.push_back(session->data_set());
  }
  beat.unfit = wire::Bounded(std::move(beat.unfit));  // loaders may be many
  beat.bad = bad_->Told();
  Send(beat);
}

void JobLink::OnMessage(const wire::Body& body) {
  if (closed_) return;
  if (const auto* opened = std::get_if<wire::JobOpened>(&body)) {
    OnJobOpened(*opened);
  } else if (const auto* session = std::get_if<wire::SessionOpened>(&body)) {
    OnSessionOpened(*session);
  } else if (const auto* leases = std::get_if<wire::Leases>(&body)) {
    OnLeases(*leases);
  } else if (const auto* status = std::get_if<wire::ClusterStatus>(&body)) {
    OnStatus(*status);
  }
}

void JobLink::OnStatus(wire::ClusterStatus status) {
  const auto query = queries_.find(status.request);
  if (query == queries_.end()) return;
  const OnCluster done = std::move(query->second);
  queries_.erase(query);
  if (status.status.ok()) {
    done(std::move(status));
  } else {
    done(status.status);
  }
}

void JobLink::OnJobOpened(const wire::JobOpened& opened) {
  if (opened.request != job_request_ || job_.valid()) return;
  job_request_ = 0;
  if (!opened.status.ok()) {
    last_error_ = opened.status;
    if (on_open_) {
      std::exchange(on_open_, nullptr)(opened.status);
    } else if (const SteadyTime now = reactor_->clock().Now();
               !said_ || now - *said_ >= kSayAgain) {
      said_ = now;  // it is asked again
      LogWarning("the coordinator does not take this job back yet: " + opened.status.ToString());
    }
    return;
  }
  said_.reset();
  job_ = opened.job;
  consumer_ = opened.consumer;
  generation_ = 0;
  if (!leased_.empty()) settled_ = reactor_->clock().Now() + kSettle;
  reactor_->CancelTimer(timer_);
  const Duration beat =
      opened.heartbeat_ms > 0 ? std::chrono::milliseconds(opened.heartbeat_ms) : kBeat;
  timer_ = reactor_->AddTimer(beat, [this] { Beat(); });
  if (on_open_) std::exchange(on_open_, nullptr)(Status::Ok());
  // After a restart the coordinator learns the state from us.
  for (const auto& [id, session] : sessions_) {
    session->SetJob(job_);
    if (!opening_.contains(id)) {
      opening_.emplace(id, Opening{++next_request_, session->plan(), session->files(),
                                   [](Result<wire::Split>) {}});
    }
  }
  for (const auto& [session, opening] : opening_) SendOpenSession(session, opening);
  SendHeartbeat();
}

void JobLink::OnSessionOpened(const wire::SessionOpened& opened) {
  for (auto it = opening_.begin(); it != opening_.end(); ++it) {
    if (it->second.request != opened.request) continue;
    if (IsNoSession(opened.status)) {  // the coordinator restarted: the session waits for its job
      job_ = JobId();
      SendOpenJob();
      return;
    }
    const OnSplit done = std::move(it->second.done);
    opening_.erase(it);
    bad_->Learn(opened.held_back);
    if (opened.status.ok()) {
      done(opened.split);
    } else {
      done(opened.status);
    }
    return;
  }
}

void JobLink::OnLeases(const wire::Leases& leases) {
  if (IsNoSession(leases.status)) {
    // A late answer of this kind must not undo a job that was opened since.
    if (leases.job == job_ || !leases.job.valid()) {
      job_ = JobId();
      SendOpenJob();
    }
    return;
  }
  if (!leases.status.ok()) last_error_ = leases.status;
  if (!leases.status.ok() || leases.job != job_ || leases.generation < generation_) return;
  bad_->Learn(leases.held_back);
  generation_ = leases.generation;
  std::vector<wire::WorkerInfo> workers = leases.workers;
  const bool keep = former_ ? workers.empty() : reactor_->clock().Now() < settled_;
  if (keep) {
    for (const wire::WorkerInfo& before : leased_) {
      const auto same = [&](const wire::WorkerInfo& worker) { return SameProcess(before, worker); };
      if (std::ranges::none_of(workers, same)) workers.push_back(before);
    }
  }
  leased_ = std::move(workers);
  for (const auto& [id, session] : sessions_) {
    if (!leased_alone_.contains(id)) session->SetLeases(leased_);
  }
  if (!keep && former_) {
    former_.reset();
    settled_ = {};
  }
}

}  // namespace headrace::client
