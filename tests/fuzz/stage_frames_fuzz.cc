#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "dataworker/stage/frame_socket.h"

// What a Python process of user code writes to its worker, in pieces as the socket gives them. Whole
// frames hold no more than was written.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using headrace::dataworker::FrameSocket;
  using headrace::dataworker::StageFrame;
  constexpr std::size_t kPiece = 64;
  auto pair = FrameSocket::MakePair();
  if (!pair.ok()) std::abort();
  auto& [ours, theirs] = *pair;
  for (std::size_t at = 0; at < size; at += kPiece) {
    const std::size_t bytes = std::min(kPiece, size - at);
    if (::send(theirs.get(), data + at, bytes, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes)) break;
    const auto status = ours.Receive([&](StageFrame&& frame) {
      std::size_t held = 0;
      for (const auto& part : frame.parts) held += part.size();
      if (held > size) std::abort();
    });
    if (!status.ok()) break;
  }
  return 0;
}
