#include "dataworker/stage/lane_hosts.h"

#include <string>
#include <utility>

#include "base/log.h"

namespace headrace::dataworker {
namespace {

std::string NameOf(const StageHosts::Lane& lane) {
  return "lane " + std::to_string(lane.lane) + " of set " + std::to_string(lane.set);
}

}  // namespace

Status LaneHosts::Give(const Lane& lane, UniqueFd socket, std::int64_t pid) {
  if (lane.lane < 0 || lane.lane >= lanes_) {
    return InvalidArgument(NameOf(lane) + ": the session has " + std::to_string(lanes_));
  }
  if (lane.set < newest_) return InvalidArgument(NameOf(lane) + " was replaced by a later set");
  if (lane.set > newest_) {
    newest_ = lane.set;
    given_.clear();
    begun_.clear();
  }
  given_.erase(lane.lane);
  Result<FrameSocket> adopted = FrameSocket::Adopt(std::move(socket));
  if (!adopted.ok()) {  // its process has ended on the way: nobody must wait for it
    LogDebug(NameOf(lane) + " has ended error=\"" + adopted.status().ToString() + "\"");
    begun_.insert(lane.lane);
    return {};
  }
  given_.emplace(lane.lane, Begun{.socket = std::move(adopted).value(), .pid = pid});
  begun_.erase(lane.lane);
  return {};
}

Result<std::optional<StageHosts::Begun>> LaneHosts::Begin(std::uint64_t /*host*/,
                                                          const Lane& lane) {
  if (lane.set < newest_) return Unavailable(NameOf(lane) + " was replaced by a later set");
  auto given = lane.set == newest_ ? given_.extract(lane.lane) : decltype(given_)::node_type();
  if (!given.empty()) {
    begun_.insert(lane.lane);
    return std::optional(std::move(given.mapped()));
  }
  if (lane.set == newest_ && begun_.contains(lane.lane)) {
    return Unavailable("the process of " + NameOf(lane) + " has ended");
  }
  return std::optional<Begun>();
}

}  // namespace headrace::dataworker
