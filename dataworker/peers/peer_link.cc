#include "dataworker/peers/peer_link.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "base/buffer.h"

namespace headrace::dataworker {
namespace {

void AnswerAll(std::vector<PeerLink::Question> questions) {
  for (const auto& question : questions) question.on_answer(wire::PeerAnswer::kNothing, {});
}

// Whether the frames are the entries that the message names.
bool Fits(const wire::PeerFound& found, const std::vector<ByteSpan>& frames, std::size_t asked) {
  return found.status.ok() && found.answers.size() == asked &&
         found.sizes.size() == frames.size() &&
         std::ranges::equal(found.sizes, frames, [](std::uint64_t size, ByteSpan frame) {
           return frame.size() >= ScratchBuffer::kSlack &&
                  frame.size() - ScratchBuffer::kSlack == size;
         });
}

}  // namespace

wire::EntryWords WordsOf(const CacheKey& key) {
  const auto& [place, version] = key.content;
  return {place[0], place[1], version[0], version[1], version[2], key.form[0], key.form[1]};
}

CacheKey KeyOf(const wire::EntryWords& words) {
  return {.content = {.place = {words[0], words[1]}, .version = {words[2], words[3], words[4]}},
          .form = {words[5], words[6]}};
}

Result<std::unique_ptr<PeerLink>> PeerLink::Open(net::Reactor& reactor,
                                                 const std::string& endpoint) {
  std::unique_ptr<PeerLink> link(new PeerLink(reactor, endpoint));
  net::SocketEvents events;
  events.on_message = [raw = link.get()](net::Incoming&& incoming) {
    raw->OnMessage(std::move(incoming));
  };
  events.on_disconnected = [raw = link.get()] { raw->OnSilence(); };
  events.server = wire::Role::kWorker;
  HR_TRY(link->socket_, reactor.ConnectDealer(endpoint, std::move(events)));
  return link;
}

PeerLink::~PeerLink() {
  socket_.reset();
  GiveUp();
}

void PeerLink::Ask(std::vector<Question> questions) {
  std::ranges::move(questions, std::back_inserter(waiting_));
  SendNext();
}

void PeerLink::SendNext() {
  if (reactor_.clock().Now() < mute_until_) {
    GiveUp();
    return;
  }
  const auto asking = [this] {
    return static_cast<std::size_t>(
        std::ranges::count_if(open_, [](const auto& each) { return !each.second.waits; }));
  };
  while (!waiting_.empty() && asking() < kMostOpen) {
    const JobId job = waiting_.front().job;
    const Question::Kind kind = waiting_.front().kind;
    std::vector<Question> together;
    while (!waiting_.empty() && waiting_.front().job == job && waiting_.front().kind == kind &&
           together.size() < wire::kMaxPeerKeys) {
      together.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    const auto pass = passes_.find(job);
    if (pass == passes_.end()) {
      AnswerAll(std::move(together));
    } else {
      Send(std::move(together), pass->second, false);
    }
  }
}

void PeerLink::AskAgain(std::vector<Question> questions) {
  if (questions.empty()) return;
  const auto pass = passes_.find(questions.front().job);  // all are of one message
  if (pass == passes_.end() || reactor_.clock().Now() < mute_until_) {
    AnswerAll(std::move(questions));
  } else {
    for (Question& question : questions) {
      std::vector<Question> alone;
      alone.push_back(std::move(question));
      Send(std::move(alone), pass->second, true);
    }
  }
}

void PeerLink::Send(std::vector<Question> questions, const std::string& pass, bool waits) {
  wire::PeerFind find{.request = ++request_,
                      .worker = self_,
                      .job = questions.front().job,
                      .pass = pass,
                      .keys = {},
                      .wait = waits,
                      .take = questions.front().kind == Question::Kind::kTake,
                      .offer = questions.front().kind == Question::Kind::kOffer};
  for (const Question& question : questions) find.keys.push_back(WordsOf(question.key));
  if (!socket_->Send({}, find).ok()) {
    AnswerAll(std::move(questions));
    return;
  }
  const net::TimerId deadline = reactor_.AddOnce(kAnswerWithin, [this] { OnSilence(); });
  open_[find.request] = {waits, std::move(questions), deadline};
}

void PeerLink::OnMessage(net::Incoming&& incoming) {
  const auto* found = std::get_if<wire::PeerFound>(&incoming.body);
  const auto at = found == nullptr ? open_.end() : open_.find(found->request);
  if (at == open_.end()) return;  // a second answer, or a late one
  Message message = std::move(at->second);
  open_.erase(at);
  reactor_.CancelTimer(message.deadline);
  SendNext();
  if (!Fits(*found, incoming.payload, message.questions.size())) {
    AnswerAll(std::move(message.questions));
    return;
  }
  std::size_t frame = 0;
  std::vector<Question> again;
  for (std::size_t i = 0; i < message.questions.size(); ++i) {
    CachePin pin;
    if (found->answers[i] == wire::PeerAnswer::kFound) {
      const std::uint64_t cost = found->costs_ns.empty() ? 0 : found->costs_ns[frame];
      pin = {incoming.payload[frame].first(found->sizes[frame]), incoming.payload_owner,
             Duration(static_cast<Duration::rep>(std::min(cost, PeerLink::kMostCostNs)))};
      ++frame;
    }
    if (found->answers[i] == wire::PeerAnswer::kSoon && !message.waits) {
      again.push_back(std::move(message.questions[i]));
      continue;
    }
    message.questions[i].on_answer(found->answers[i], std::move(pin));
  }
  AskAgain(std::move(again));
}

void PeerLink::OnSilence() {
  mute_until_ = reactor_.clock().Now() + kMute;
  GiveUp();
}

void PeerLink::GiveUp() {
  std::vector<Question> all;
  for (auto& [request, message] : std::exchange(open_, {})) {
    reactor_.CancelTimer(message.deadline);
    std::ranges::move(message.questions, std::back_inserter(all));
  }
  std::ranges::move(std::exchange(waiting_, {}), std::back_inserter(all));
  AnswerAll(std::move(all));
}

void PeerLink::Put(JobId job, const CacheKey& key, bool made, Duration cost,
                   std::vector<net::PayloadFrame> payload) {
  const auto pass = passes_.find(job);
  if (pass == passes_.end()) return;
  (void)socket_->Send(
      {},
      wire::PeerPut{.worker = self_,
                    .job = job,
                    .pass = pass->second,
                    .key = WordsOf(key),
                    .made = made,
                    .cost_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(cost.count(), 0))},
      std::move(payload));
}

}  // namespace headrace::dataworker
