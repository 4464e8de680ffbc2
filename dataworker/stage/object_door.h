#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "dataworker/stage/frame_socket.h"
#include "dataworker/stage/object_ask.h"
#include "net/reactor.h"

namespace headrace::dataworker {

// Where the processes of a session's stage come to ask for objects. All of them, and what they fork, have
// the same end of a socket, the door. A process that wants to ask makes a pair of sockets, and passes one
// of them through the door. On it it asks one question at a time:
//
//   free -kObject-> asked -Answer-> free, or, with memory, untaken -kTaken-> free
//
// At the bound, those that are free are hung up, and processes begin again; else the next ones wait in
// the door. What they send is checked: they run user code. Reactor thread.
class ObjectDoor {
 public:
  // Takes a question, and the descriptor that came along; Answer may be called inside.
  using OnAsk = std::function<void(std::uint64_t connection, ObjectAsk ask, UniqueFd passed)>;
  static constexpr std::size_t kMostConnections = 256;

  // `on_ask` must not end the door. kUnavailable: no descriptors.
  static Result<std::unique_ptr<ObjectDoor>> Open(net::Reactor& reactor, OnAsk on_ask);
  ~ObjectDoor();
  ObjectDoor(const ObjectDoor&) = delete;
  ObjectDoor& operator=(const ObjectDoor&) = delete;

  // The processes' end.
  [[nodiscard]] int theirs() const { return theirs_.get(); }
  // Answers a question. Nothing happens if its process has gone.
  void Answer(std::uint64_t connection, ObjectTold told);
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

 private:
  struct Connection {
    explicit Connection(FrameSocket made) : socket(std::move(made)) {}
    FrameSocket socket;
    bool asked = false;
    std::shared_ptr<const void> untaken;
    [[nodiscard]] bool free() const { return !asked && untaken == nullptr; }
  };

  ObjectDoor(net::Reactor& reactor, UniqueFd ours, UniqueFd theirs, OnAsk on_ask)
      : reactor_(reactor),
        ours_(std::move(ours)),
        theirs_(std::move(theirs)),
        on_ask_(std::move(on_ask)) {}
  void Watch(bool watch);
  void OnDoor();
  void Let(UniqueFd socket);
  void OnReadable(std::uint64_t id);
  Status OnFrame(std::uint64_t id, const StageFrame& frame);
  void HangUp(std::uint64_t id);
  // Makes room for one more; false: all are in use.
  bool MakeRoom();

  net::Reactor& reactor_;
  const UniqueFd ours_, theirs_;
  const OnAsk on_ask_;
  bool watched_ = false;
  std::map<std::uint64_t, Connection> connections_;  // the oldest first
  std::uint64_t next_ = 1;
};

}  // namespace headrace::dataworker
