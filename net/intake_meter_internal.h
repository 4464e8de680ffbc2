#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

#include "base/buffer.h"

namespace headrace::net {

// What one connection may make a server hold before the server has read it.
struct IntakeLimits {
  // Of each connection. A body and a payload frame, each of the largest legal size, and room for the
  // next message.
  std::uint64_t bytes = std::uint64_t{192} << 20;
  // ZeroMQ hands on 100 messages of three frames at most, and what one read holds beside.
  std::size_t frames = 1024;
  std::uint64_t total_bytes = std::uint64_t{1} << 30;  // of all connections together
};

// Follows the bytes that a peer sends on one connection, frame by frame (ZMTP 3, RFC 23), and counts
// what of it has not been handed on. It reads the lengths of frames alone, and they are the same with
// and without keys. External lock.
class IntakeMeter {
 public:
  // What a frame costs beside its bytes.
  static constexpr std::uint64_t kFrameBytes = 128;
  // What a read costs in which frames begin: ZeroMQ keeps its buffer for the small ones. The last frame
  // of the read bears it, because the buffer goes with that one. Other reads go into the frame itself.
  static constexpr std::uint64_t kReadBytes = std::uint64_t{8} << 10;
  // Handshakes need three, and ours send no others. ZeroMQ queues some kinds of them as messages.
  static constexpr std::size_t kMaxCommands = 16;
  static constexpr std::uint64_t kMaxCommandBytes = std::uint64_t{64} << 10;

  // Takes the next bytes of the peer. Empty: go on; otherwise why the connection must end.
  [[nodiscard]] std::string_view Take(ByteSpan bytes, const IntakeLimits& limits);
  // The server was handed the oldest so many frames.
  void HandedOn(std::size_t frames);
  // Cost of what was taken and is not handed on.
  [[nodiscard]] std::uint64_t held() const { return held_; }

 private:
  static constexpr std::size_t kGreetingBytes = 64;
  static constexpr std::size_t kMaxHeadBytes = 9;

  // Each takes from the front of `bytes`.
  void TakeGreeting(ByteSpan& bytes);
  void TakeHead(ByteSpan& bytes);
  void TakeBody(ByteSpan& bytes);
  void EndFrame();
  void ChargeRead();

  std::size_t greeted_ = 0;                         // bytes of the greeting that have come
  std::array<std::uint8_t, kMaxHeadBytes> head_{};  // of the frame in progress: flags and length
  std::size_t head_size_ = 0;
  bool in_body_ = false;
  bool command_ = false;              // the frame in progress is one
  bool begins_ = false;               // in this read a frame has begun that is none
  std::uint64_t missing_ = 0;         // bytes of the frame in progress
  std::uint64_t arrived_ = 0;         // its cost until now
  std::deque<std::uint32_t> frames_;  // costs of those that are whole, oldest first
  std::uint64_t held_ = 0;
  std::size_t commands_ = 0;
  std::string_view wrong_;  // with the bytes themselves
};

}  // namespace headrace::net
