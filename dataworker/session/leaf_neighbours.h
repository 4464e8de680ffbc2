#pragma once

#include <memory>
#include <string>

#include "dataworker/neighbours/neighbour_desk.h"
#include "dataworker/neighbours/neighbours.h"
#include "dataworker/session/leaf_shelf.h"
#include "net/reactor.h"
#include "schemas/wire/host_identity.h"

namespace headrace::dataworker {

// Has the worker's neighbours find what the shelf keeps, and `neighbours` find them. `base`: what the paths of the
// worker's sockets begin with; its directory is this user's alone. nullptr, with a line in the log where that is a
// trouble: the worker has no neighbours. The others outlive what is returned. Reactor thread.
[[nodiscard]] std::unique_ptr<NeighbourDesk> JoinNeighbours(
    net::Reactor& reactor, const std::string& base, const wire::HostIdentity& host,
    const std::string& coordinator, LeafShelf& shelf, Neighbours& neighbours);

// What the shelf says to a neighbour.
[[nodiscard]] NeighbourDesk::Answer AnswerNeighbour(LeafShelf& shelf, const NeighbourAsk& ask,
                                                    SteadyTime now);

}  // namespace headrace::dataworker
