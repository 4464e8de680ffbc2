#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "dataworker/neighbours/neighbour_words.h"
#include "net/reactor.h"

namespace headrace::dataworker {

// Where the neighbours of a worker ask what leaves it keeps: the answering half of Neighbours. A Unix socket in the
// worker's private directory, that processes of its user alone reach (SO_PEERCRED). Who sends anything but a
// question of this ground is hung up on, and so is who comes when kMostConnections are there. Reactor thread; destroyed before its reactor, and not inside `on_ask`.
class NeighbourDesk {
 public:
  static constexpr std::size_t kMostConnections = 64;

  struct Answer {
    NeighbourTold told;   // its request is filled in
    UniqueFd descriptor;  // with kHere, if there are bytes
  };
  using OnAsk = std::function<Answer(const NeighbourAsk&)>;

  // kUnavailable: the path is too long, or in use.
  static Result<std::unique_ptr<NeighbourDesk>> Open(net::Reactor& reactor, std::string path,
                                                     const NeighbourGround& ground, OnAsk on_ask);
  ~NeighbourDesk();
  NeighbourDesk(const NeighbourDesk&) = delete;
  NeighbourDesk& operator=(const NeighbourDesk&) = delete;

  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

 private:
  NeighbourDesk(net::Reactor& reactor, std::string path, const NeighbourGround& ground,
                UniqueFd listener, OnAsk on_ask);
  void OnWaiting();
  void Pause();
  void OnPacket(std::uint64_t id);
  void HangUp(std::uint64_t id);

  net::Reactor& reactor_;
  const std::string path_;
  const NeighbourGround ground_;
  const UniqueFd listener_;
  const OnAsk on_ask_;
  std::uint64_t last_ = 0;
  net::TimerId pause_ = 0;  // 0: none
  std::map<std::uint64_t, UniqueFd> connections_;
};

}  // namespace headrace::dataworker
