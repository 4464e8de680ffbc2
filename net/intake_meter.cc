#include <algorithm>

#include "net/intake_meter_internal.h"
#include "schemas/wire/message.h"

namespace headrace::net {
namespace {

// Flags of a frame.
constexpr std::uint8_t kLong = 2;
constexpr std::uint8_t kCommand = 4;
// Places in a greeting, and what stands there.
constexpr std::size_t kSignatureEnd = 9;
constexpr std::size_t kVersion = 10;
constexpr std::uint8_t kOldestVersion = 3;

}  // namespace

std::string_view IntakeMeter::Take(ByteSpan bytes, const IntakeLimits& limits) {
  begins_ = false;
  while (!bytes.empty() && wrong_.empty()) {
    if (greeted_ < kGreetingBytes) {
      TakeGreeting(bytes);
    } else if (!in_body_) {
      TakeHead(bytes);
    } else {
      TakeBody(bytes);
    }
    if (frames_.size() > limits.frames) return "more frames than a message may have";
    if (held_ > limits.bytes) return "more bytes than a message may have";
  }
  ChargeRead();
  if (wrong_.empty() && held_ > limits.bytes) return "more bytes than a message may have";
  return wrong_;
}

void IntakeMeter::ChargeRead() {
  if (!begins_) return;
  held_ += kReadBytes;
  if (in_body_ && !command_) {
    arrived_ += kReadBytes;
  } else {
    frames_.back() += static_cast<std::uint32_t>(kReadBytes);
  }
}

// Older versions, which have other frames, are spoken by none of ours.
void IntakeMeter::TakeGreeting(ByteSpan& bytes) {
  const std::size_t count = std::min(bytes.size(), kGreetingBytes - greeted_);
  for (std::size_t i = 0; i < count; ++i) {
    const auto byte = std::to_integer<std::uint8_t>(bytes[i]);
    const std::size_t at = greeted_ + i;
    if ((at == 0 && byte != 0xff) || (at == kSignatureEnd && byte != 0x7f) ||
        (at == kVersion && byte < kOldestVersion)) {
      wrong_ = "a greeting that is not ZMTP 3";
      return;
    }
  }
  greeted_ += count;
  bytes = bytes.subspan(count);
}

void IntakeMeter::TakeHead(ByteSpan& bytes) {
  head_[head_size_++] = std::to_integer<std::uint8_t>(bytes.front());
  bytes = bytes.subspan(1);
  const bool is_long = (head_[0] & kLong) != 0;
  if (head_size_ < (is_long ? kMaxHeadBytes : 2)) return;
  std::uint64_t size = 0;
  for (std::size_t i = 1; i < head_size_; ++i) size = size << 8 | head_[i];
  head_size_ = 0;
  command_ = (head_[0] & kCommand) != 0;
  if (command_ && (++commands_ > kMaxCommands || size > kMaxCommandBytes)) {
    wrong_ = "commands that nobody of ours sends";
    return;
  }
  // ZeroMQ refuses such a frame too (ZMQ_MAXMSGSIZE); with keys a frame has some bytes more.
  if (size > wire::kMaxBodyBytes + 1024) {
    wrong_ = "a frame over the limit";
    return;
  }
  missing_ = size;
  arrived_ = kFrameBytes;
  held_ += kFrameBytes;
  in_body_ = true;
  begins_ = begins_ || !command_;
  if (missing_ == 0) EndFrame();
}

void IntakeMeter::TakeBody(ByteSpan& bytes) {
  const std::uint64_t count = std::min<std::uint64_t>(bytes.size(), missing_);
  bytes = bytes.subspan(count);
  missing_ -= count;
  arrived_ += count;
  held_ += count;
  if (missing_ == 0) EndFrame();
}

void IntakeMeter::EndFrame() {
  in_body_ = false;
  if (command_) {  // ZeroMQ is done with it
    held_ -= arrived_;
  } else {
    frames_.push_back(static_cast<std::uint32_t>(arrived_));
  }
  arrived_ = 0;
}

void IntakeMeter::HandedOn(std::size_t frames) {
  for (; frames > 0 && !frames_.empty(); --frames) {
    held_ -= frames_.front();
    frames_.pop_front();
  }
}

}  // namespace headrace::net
