#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/reactor.h"
#include "schemas/wire/message.h"

namespace headrace::simulation {

// A message on its way: its bytes, as on a real socket. A payload that has an owner is read when the
// message arrives, not before: so whoever writes to it meanwhile is seen. A value.
struct SimPacket {
  std::shared_ptr<const wire::EncodedMessage> message;
  std::vector<net::PayloadFrame> payload;
  std::size_t bytes = 0;

  // kInvalidArgument: over the limits of net::Socket::Send.
  static Result<SimPacket> Make(const wire::Body& body, std::vector<net::PayloadFrame> payload);
  // Fills in body and payload; the receiver's bytes are its own. An error is one of wire::Decode.
  Status Read(net::Incoming& incoming) const;
};

// The name of a message, and what of it tells most; for people.
[[nodiscard]] std::string DescribeMessage(const wire::Body& body);

}  // namespace headrace::simulation
