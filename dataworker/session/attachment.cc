#include "dataworker/session/attachment.h"

namespace headrace::dataworker {

void Attachment::Renew(std::string peer, const wire::Attach& attach) {
  peer_ = std::move(peer);
  if (!lease_ || attach.job != attach_.job || attach.cache_bytes != attach_.cache_bytes) {
    lease_ = attach.cache_bytes == 0 ? nullptr
                                     : std::make_shared<const CacheLease>(
                                           cache_, attach.job, attach.cache_bytes, peers_);
  }
  attach_ = attach;
  since_ = heard_ = clock_.Now();
}

bool Attachment::AwaitsArena() {
  if (!attach_.plan.has_python_stage || !attach_.use_arena || here_) return false;
  if (awaited_++ == 0) awaited_since_ = clock_.Now();
  return awaited_ <= kMostAwaited || clock_.Now() - awaited_since_ < kLongestAwait;
}

bool Attachment::SamePlan(const wire::Attach& attach) const {
  return attach.plan == attach_.plan && attach.split == attach_.split &&
         attach.lanes_given == attach_.lanes_given;
}

bool Attachment::Abandoned(bool leased, SteadyTime asked) {
  if (leased || asked <= since_) {
    unleased_ = 0;
    return false;
  }
  ++unleased_;
  return unleased_ >= kMostUnleased && clock_.Now() - heard_ >= kMostSilence;
}

void Attachment::Send(wire::Body body, std::vector<net::PayloadFrame> payload) const {
  send_(peer_, std::move(body), std::move(payload));
}

wire::BatchDone Attachment::AnswerTo(const wire::BatchRequest& request) const {
  wire::BatchDone answer;
  answer.session = session();
  answer.iteration = request.iteration;
  answer.batch = request.batch;
  answer.attempt = request.attempt;
  return answer;
}

void Attachment::Refuse(const wire::BatchRequest& request, Status status,
                        std::uint64_t needed_bytes) const {
  wire::BatchDone answer = AnswerTo(request);
  answer.status = std::move(status);
  answer.needed_bytes = needed_bytes;
  Send(std::move(answer));
}

}  // namespace headrace::dataworker
