#include "dataworker/session/leaf_neighbours.h"

#include <optional>
#include <utility>

#include "base/log.h"

namespace headrace::dataworker {

std::unique_ptr<NeighbourDesk> JoinNeighbours(net::Reactor& reactor, const std::string& base,
                                              const wire::HostIdentity& host,
                                              const std::string& coordinator, LeafShelf& shelf,
                                              Neighbours& neighbours) {
  // A simulated host has no sockets, and of an unknown one nobody knows what its files' names mean.
  const std::size_t slash = base.rfind('/');
  if (reactor.descriptors() != nullptr || host.boot_id.empty() || slash == std::string::npos) {
    return nullptr;
  }
  const NeighbourGround ground = NeighbourGroundOf(host, coordinator);
  const std::string path = base + ".leaves";
  auto desk = NeighbourDesk::Open(reactor, path, ground, [&](const NeighbourAsk& ask) {
    return AnswerNeighbour(shelf, ask, reactor.clock().Now());
  });
  if (!desk.ok()) {
    LogWarning("no leaves are shared with other workers of this host: " + desk.status().message());
    return nullptr;
  }
  neighbours.Begin(
      {.directory = base.substr(0, slash),
       .own = path.substr(slash + 1),
       .ground = ground,
       .most_index_bytes = LeafShelf::kMostRows * sizeof(LeafShelf::FullRow),
       .is_index = LeafShelf::IsIndex,
       .is_of_a_file = [](std::uint64_t number) { return (number & LeafShelf::kOfFile) != 0; },
       .most_segment_bytes = LeafShelf::kMostSegmentBytes});
  return std::move(desk).value();
}

NeighbourDesk::Answer AnswerNeighbour(LeafShelf& shelf, const NeighbourAsk& ask, SteadyTime now) {
  using How = NeighbourTold::How;
  NeighbourDesk::Answer answer;
  LeafShelf::File file;
  if (ask.what == NeighbourAsk::What::kIndex) {
    Result<LeafShelf::Offer> offer = shelf.IndexForNeighbours(ask.number, now);
    if (!offer.ok()) {
      // Nothing new, as far as it can know: there is no memory for more. Who has none yet has nothing.
      answer.told.how = ask.number == 0 ? How::kHere : How::kSame;
      answer.told.version = ask.number == 0 ? ~std::uint64_t{0} : ask.number;
      return answer;
    }
    answer.told.version = offer->version;
    answer.told.how = offer->version == ask.number ? How::kSame : How::kHere;
    file = std::move(offer->file);
  } else {
    // Segments of neighbours are theirs to give: nobody is asked on another's behalf.
    Result<LeafShelf::File> found = shelf.Segment(std::nullopt, ask.number);
    if (!found.ok()) return answer;
    answer.told.how = How::kHere;
    file = std::move(found).value();
  }
  answer.told.size = file.bytes;
  if (file.bytes > 0) answer.descriptor = std::move(file.memory);
  return answer;
}

}  // namespace headrace::dataworker
