#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace headrace::remote {

// The receive buffers that paced connections may have, bytes. What a buffer holds crosses the network
// whether it is read or not, so it has to be small against what the payer may receive in a second.
// And it has to be large, since a connection brings a buffer in each round trip. A hundredth of a
// second of the rate is both: 2% of a second for two of them, and at 50 ms five connections suffice.
constexpr std::array<std::uint64_t, 4> kReceiveBuffers = {8192, 32768, 131072, 524288};

// The place in kReceiveBuffers for a payer of this rate, bytes a second > 0. Pure.
[[nodiscard]] constexpr std::size_t ReceiveBufferFor(std::uint64_t rate) {
  std::size_t at = 0;
  while (at + 1 < kReceiveBuffers.size() && kReceiveBuffers[at + 1] <= rate / 100) ++at;
  return at;
}

// The most that one read takes from a socket, bytes; and from one of these. libcurl hands no more over at
// once (CURL_MAX_WRITE_SIZE), and would keep the rest where a transfer waits.
constexpr std::uint64_t kMostRead = 131072, kMostPiece = 16384;

// Counts the bytes of one answer's body that the sender may have sent: those that may have been read, and
// what the receive buffer lets come before more is read. So a byte is paid for before it can cross the
// network, not when it is there. Each function returns how many bytes more that is; below 0: so many
// fewer. Pure; thread-compatible.
class ReceiveWindow {
 public:
  // `buffer`: of the connection, bytes. 0: nobody knows how large it is, and bytes are paid for when they
  // are read.
  explicit ReceiveWindow(std::uint64_t buffer)
      : buffer_(buffer), piece_(std::min(buffer, kMostPiece)) {}

  // A request is sent, and its answer may be read once: nobody knows when it comes. `expected`: bytes of
  // the body; it may be wrong.
  std::int64_t Begin(std::uint64_t expected) {
    allowed_ = piece_;
    return Pay(std::min(expected, allowed_ + buffer_));
  }
  // The head of the answer said how long the body is.
  std::int64_t OnLength(std::uint64_t length) {
    length_ = length;
    known_ = true;
    return Pay(Reach());
  }
  std::int64_t OnRead(std::uint64_t bytes) {
    read_ += bytes;
    allowed_ = std::max(allowed_, read_);
    return Pay(Reach());
  }
  // It may be read once more.
  std::int64_t Allow() {
    allowed_ = read_ + piece_;
    return Pay(Reach());
  }
  // The answer is over. `all_read`: nothing more can have come. Otherwise what may have come stays paid.
  std::int64_t End(bool all_read) { return all_read ? Pay(read_) : 0; }
  // All that is left of the body is paid for. Or it comes with the read that is taken just now: libcurl hands
  // a read over in pieces, and none but the last may end a transfer that waits.
  [[nodiscard]] bool ends() const {
    return known_ && length_ <= (buffer_ > 0 ? allowed_ + buffer_ : read_ + kMostRead);
  }

 private:
  [[nodiscard]] std::uint64_t Reach() const {
    return known_ ? std::max(std::min(length_, allowed_ + buffer_), read_) : allowed_ + buffer_;
  }
  std::int64_t Pay(std::uint64_t paid) {
    const auto more = static_cast<std::int64_t>(paid) - static_cast<std::int64_t>(paid_);
    paid_ = paid;
    return more;
  }

  const std::uint64_t buffer_;
  const std::uint64_t piece_;  // that one read takes
  std::uint64_t allowed_ = 0;  // bytes that may have been read
  std::uint64_t length_ = 0, read_ = 0, paid_ = 0;
  bool known_ = false;
};

}  // namespace headrace::remote
