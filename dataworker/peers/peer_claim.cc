#include "dataworker/peers/peer_claim.h"

#include "dataworker/peers/peer_cache.h"

namespace headrace::dataworker {

PeerClaim::~PeerClaim() {
  if (const auto peers = peers_.lock()) peers->GiveBack(owner_, job_, key_);
}

bool PeerClaim::Commit(ByteSpan entry, Duration cost) {
  const auto peers = std::exchange(peers_, {}).lock();
  if (!peers) return false;
  if (peers->Put(owner_, job_, key_, entry, cost)) return true;
  peers->GiveBack(owner_, job_, key_);
  return false;
}

}  // namespace headrace::dataworker
