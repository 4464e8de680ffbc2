#include <cstdint>
#include <cstdlib>

#include "schemas/wire/message.h"

// A frame as a hostile peer may send it: 8 bytes of header, then the body. What is accepted must
// survive being encoded and decoded again. Seeds: schemas/golden/v1/messages.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using headrace::ByteSpan;
  namespace wire = headrace::wire;
  const ByteSpan frame = std::as_bytes(std::span(data, size));
  const std::size_t header = std::min(size, wire::kHeaderBytes);
  const auto body = wire::Decode(frame.first(header), frame.subspan(header));
  if (!body.ok()) return 0;
  const wire::EncodedMessage again = wire::Encode(*body);
  if (!wire::Decode(again.header, again.body).ok()) std::abort();
  return 0;
}
