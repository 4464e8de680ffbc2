#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "dataworker/cache/cache_entry.h"
#include "net/reactor.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

[[nodiscard]] wire::EntryWords WordsOf(const CacheKey& key);
[[nodiscard]] CacheKey KeyOf(const wire::EntryWords& words);

// The connection to one worker that keeps samples of a job. It asks for several entries in a message:
// while kMostOpen messages have no answer, questions wait, and the next message has all of them. So a
// batch's samples go in one or two, however they come. A question for an entry that somebody makes
// now goes in a message of its own.
//
// Each question has exactly one answer, within kAnswerWithin: a peer that is dead, mute or refuses has
// nothing. After silence or a hang-up it is not asked for kMute. Reactor thread.
class PeerLink {
 public:
  static constexpr Duration kAnswerWithin = std::chrono::seconds(1);
  static constexpr Duration kMute = std::chrono::seconds(2);
  static constexpr std::size_t kMostOpen = 2;
  // Of one entry, whatever a peer says that it took to make.
  static constexpr std::uint64_t kMostCostNs = 100'000'000'000;

  // Takes the answer; with kFound, the entry.
  using OnAnswer = std::function<void(wire::PeerAnswer, CachePin)>;
  struct Question {
    JobId job;
    CacheKey key;
    // What becomes of the entry.
    enum class Kind : std::uint8_t {
      kFind,
      kTake,   // it goes to its owner: the peer needs not keep it
      kOffer,  // the asker has it: the peer may want it
    };
    Kind kind = Kind::kFind;
    OnAnswer on_answer;
  };

  // Errors as Reactor::ConnectDealer.
  static Result<std::unique_ptr<PeerLink>> Open(net::Reactor& reactor, const std::string& endpoint);
  // Answers what is open.
  ~PeerLink();
  PeerLink(const PeerLink&) = delete;
  PeerLink& operator=(const PeerLink&) = delete;

  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
  // Who asks, and the passes by which it speaks for jobs there; for others it has no answer.
  void SetPasses(WorkerId self, std::map<JobId, std::string> passes) {
    self_ = self;
    passes_ = std::move(passes);
  }
  void Ask(std::vector<Question> questions);
  // Gives an entry that the peer wants, or says that none comes. A message that can't be sent is lost.
  void Put(JobId job, const CacheKey& key, bool made, Duration cost,
           std::vector<net::PayloadFrame> payload);

 private:
  struct Message {
    bool waits = false;  // for entries that others make
    std::vector<Question> questions;
    net::TimerId deadline = 0;
  };
  PeerLink(net::Reactor& reactor, std::string endpoint)
      : reactor_(reactor), endpoint_(std::move(endpoint)) {}
  void SendNext();
  void Send(std::vector<Question> questions, const std::string& pass, bool waits);
  // Asks again for what others make now, each in a message of its own: nothing is held up by another.
  void AskAgain(std::vector<Question> questions);
  void OnMessage(net::Incoming&& incoming);
  void OnSilence();
  // Answers what is open and what waits.
  void GiveUp();

  net::Reactor& reactor_;
  const std::string endpoint_;
  WorkerId self_;
  std::unique_ptr<net::Socket> socket_;
  std::map<JobId, std::string> passes_;
  std::deque<Question> waiting_;
  std::map<std::uint64_t, Message> open_;  // by request
  std::uint64_t request_ = 0;
  SteadyTime mute_until_ = SteadyTime::min();
};

}  // namespace headrace::dataworker
