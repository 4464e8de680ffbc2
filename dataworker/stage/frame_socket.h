#pragma once

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
};

// What each side says it speaks, in the head of every frame. It changes with any change of a
// frame's meaning; golden/ freezes the frames of this one.
inline constexpr std::uint8_t kStageProtocol = 2;

struct StageFrame {
  StageMessage kind{};
  std::vector<Bytes> parts;
};

// A frame's bytes, little endian: "HRS", u8 protocol, u32 kind, u32 number of parts, u64 size of
// each, the parts.
[[nodiscard]] Bytes EncodeStageFrame(StageMessage kind, std::span<const ByteSpan> parts);

// A connected Unix socket that carries frames. The first one of each side is kHello [release], of
// which the head and the text never change, so that who speaks another protocol can be named. Never
// blocks. The peer runs user code: everything it says is checked. One thread.
class FrameSocket {
 public:
  // Both ends of a new connection; ours is first, close-on-exec both.
  static Result<std::pair<FrameSocket, UniqueFd>> MakePair();
  // Our end of a connection that somebody else made. kUnavailable: it is none.
  static Result<FrameSocket> Adopt(UniqueFd fd);

  [[nodiscard]] int fd() const { return fd_.get(); }
  // Small frames only: what does not fit the socket's buffer at once is kUnavailable, as is a peer
  // that is gone. `passed` (at most kMostPassed) goes along; it stays the caller's.
  Status Send(StageMessage kind, std::span<const ByteSpan> parts, std::span<const int> passed = {});
  static constexpr std::size_t kMostPassed = 2;
  // Takes in what has come and calls back for each whole frame but kHello. kUnavailable: the peer
  // is gone. kInvalidArgument: it does not keep to the format, or speaks another protocol (the
  // message names both releases).
  Status Receive(const std::function<void(StageFrame&&)>& on_frame);

  // Our release and the peer's, for messages about what was not understood.
  [[nodiscard]] std::string Releases() const;

 private:
  explicit FrameSocket(UniqueFd fd) : fd_(std::move(fd)) {}
  // Whole frame at the start of `incoming_`: true, and taken out.
  Result<bool> TakeFrame(StageFrame* frame);

  UniqueFd fd_;
  std::string peer_release_;
  Bytes incoming_;
  std::size_t filled_ = 0;
};

}  // namespace headrace::dataworker
