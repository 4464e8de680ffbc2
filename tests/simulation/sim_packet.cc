#include "tests/simulation/sim_packet.h"

#include <utility>
#include <variant>

namespace headrace::simulation {

Result<SimPacket> SimPacket::Make(const wire::Body& body, std::vector<net::PayloadFrame> payload) {
  SimPacket packet;
  packet.message = std::make_shared<const wire::EncodedMessage>(wire::Encode(body));
  packet.bytes = packet.message->body.size();
  for (net::PayloadFrame& frame : payload) {
    packet.bytes += frame.data.size();
    if (frame.data.size() > net::kMaxFrameBytes) return InvalidArgument("over the limits");
    if (frame.owner || frame.data.empty()) continue;
    const auto copy = std::make_shared<const Bytes>(frame.data.begin(), frame.data.end());
    frame.data = *copy;
    frame.owner = copy;
  }
  packet.payload = std::move(payload);
  return packet;
}

Status SimPacket::Read(net::Incoming& incoming) const {
  HR_TRY(incoming.body, wire::Decode(message->header, message->body));
  auto owner = std::make_shared<std::vector<Bytes>>();
  for (const net::PayloadFrame& frame : payload) {
    owner->emplace_back(frame.data.begin(), frame.data.end());
  }
  for (const Bytes& frame : *owner) incoming.payload.emplace_back(frame);
  incoming.payload_owner = std::move(owner);
  return Status::Ok();
}

std::string DescribeMessage(const wire::Body& body) {
  std::string text(wire::MessageName(wire::TypeOf(body)));
  if (const auto* request = std::get_if<wire::BatchRequest>(&body)) {
    text += " batch " + std::to_string(request->batch.value) + " attempt " +
            std::to_string(request->attempt) + " iteration " +
            std::to_string(request->iteration.value);
  } else if (const auto* done = std::get_if<wire::BatchDone>(&body)) {
    text += " batch " + std::to_string(done->batch.value) + " attempt " +
            std::to_string(done->attempt) + " " + done->status.ToString();
  } else if (const auto* attached = std::get_if<wire::Attached>(&body)) {
    text += " needs " + std::to_string(attached->needed_blobs.size()) + " blobs " +
            attached->status.ToString();
  } else if (const auto* leases = std::get_if<wire::Leases>(&body)) {
    text += " generation " + std::to_string(leases->generation) + ":";
    for (const wire::WorkerInfo& worker : leases->workers) {
      text += " " + std::to_string(worker.host.pid);
    }
  }
  return text;
}

}  // namespace headrace::simulation
