#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace headrace::dataworker {

// Messages between a worker and its Python subprocesses; values as in headrace/stage/wire.py.
enum class StageMessage : std::uint32_t {
  kSession = 1,
  kFork = 2,
  kReady = 3,
  kForked = 4,
  kEnded = 5,
  kArena = 6,
  kBatch = 7,
  kDone = 8,
  kPrepare = 9,
  kEnd = 10,
  kBecame = 11,
  kUnfit = 12,
  kHello = 13,
  kObject = 14,
  kAnswer = 15,
  kTaken = 16,
  kDoor = 17,
};

// The protocol that each side names in the head of every frame. It changes with any change of a
// frame's meaning; golden/ freezes the frames of this one.
inline constexpr std::uint8_t kStageProtocol = 7;

struct StageFrame {
  StageMessage kind{};
  std::vector<Bytes> parts;
};

// A frame's bytes, little endian: "HRS", u8 protocol, u32 kind, u32 number of parts, u64 size of
// each, the parts.
[[nodiscard]] Bytes EncodeStageFrame(StageMessage kind, std::span<const ByteSpan> parts);

// A connected Unix socket that carries frames. The first frame of each side is kHello [release].
// Its head and text never change, so that a peer with another protocol can be named. Never blocks.
// The peer runs user code, so everything that it sends is checked. One thread.
class FrameSocket {
 public:
  // Makes both ends of a new connection. The first is ours; both are close-on-exec.
  static Result<std::pair<FrameSocket, UniqueFd>> MakePair();
  // Takes our end of a connection that somebody else made. A frame with more bytes than `most` is
  // refused, and little more than two such frames is kept. kUnavailable: it is none.
  static Result<FrameSocket> Adopt(UniqueFd fd, std::size_t most = kMostFrameBytes);
  static constexpr std::size_t kMostFrameBytes = std::size_t{1} << 30;

  [[nodiscard]] int fd() const { return fd_.get(); }
  // Sends a small frame. kUnavailable: it does not fit the socket's buffer at once, or the peer is
  // gone. `passed` (at most kMostPassed) goes along; the caller keeps it.
  Status Send(StageMessage kind, std::span<const ByteSpan> parts, std::span<const int> passed = {});
  static constexpr std::size_t kMostPassed = 3;
  // Reads what has come, and calls back for each whole frame except kHello. kUnavailable: the peer
  // is gone. kInvalidArgument: it does not keep to the format, or speaks another protocol (the
  // message names both releases).
  Status Receive(const std::function<void(StageFrame&&)>& on_frame);

  // The last descriptor that has come and was not taken; what came before it is closed. Invalid: none has.
  [[nodiscard]] UniqueFd TakePassed() { return std::exchange(passed_, UniqueFd()); }

  // Names our release and the peer's, for messages about frames that were not understood.
  [[nodiscard]] std::string Releases() const;

 private:
  FrameSocket(UniqueFd fd, std::size_t most) : fd_(std::move(fd)), most_(most) {}
  // Takes a whole frame from the start of `incoming_`; true if there is one.
  Result<bool> TakeFrame(StageFrame* frame);
  // As recv(2), at most `most` bytes to `incoming_`; keeps a descriptor that comes along.
  ssize_t Read(std::size_t most);

  UniqueFd fd_;
  std::size_t most_;  // bytes of a frame
  std::string peer_release_;
  UniqueFd passed_;
  Bytes incoming_;
  std::size_t filled_ = 0;
};

}  // namespace headrace::dataworker
