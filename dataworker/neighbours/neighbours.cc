#include "dataworker/neighbours/neighbours.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "net/user_socket.h"

namespace headrace::dataworker {
namespace {

bool IsSocketOfLeaves(std::string_view name) {
  return name.starts_with('w') && name.ends_with(".leaves");
}

std::vector<std::string> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(directory.c_str()), ::closedir);
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
    if (IsSocketOfLeaves(entry->d_name)) names.emplace_back(entry->d_name);
  }
  return names;
}

}  // namespace

Neighbours::~Neighbours() {
  if (late_ != 0) reactor_.CancelTimer(late_);
  for (auto& [id, of] : known_) {
    reactor_.UnwatchFd(of.socket.get());
    for (const auto& [request, wanted] : of.wanted) reactor_.CancelTimer(wanted.deadline);
  }
}

void Neighbours::Refresh(std::function<void()> then) {
  if (!refreshing_.empty()) {  // those that are asked now say what is new
    refreshing_.push_back(std::move(then));
    return;
  }
  Look();
  std::vector<std::uint64_t> gone;
  for (auto& [id, of] : known_) {
    if (of.index_request != 0) {  // it is late, and not asked twice
      if (!of.mute) awaited_.insert(id);
      continue;
    }
    const NeighbourAsk ask{
        .what = NeighbourAsk::What::kIndex, .request = ++last_request_, .number = of.version};
    const Status sent = net::SendPacketTo(of.socket.get(), PacketOf(parts_.ground, ask));
    if (sent.code() == Code::kResourceExhausted) continue;  // what it has said last counts
    if (!sent.ok()) {
      gone.push_back(id);
      continue;
    }
    of.index_request = ask.request;
    awaited_.insert(id);
  }
  for (const std::uint64_t id : gone) Forget(id, false);
  if (awaited_.empty()) return then();
  refreshing_.push_back(std::move(then));
  late_ = reactor_.AddOnce(kPatience, [this] { OnLate(); });
}

std::vector<Neighbours::Offered> Neighbours::offered() const {
  std::vector<Offered> offered;
  for (const auto& [id, of] : known_) {
    if (of.index && !of.mute) offered.push_back({id, of.index});
  }
  return offered;
}

void Neighbours::Segment(std::uint64_t neighbour, std::uint64_t number, OnSegment then) {
  const auto found = known_.find(neighbour);
  if (found == known_.end() || found->second.mute) {
    return then(NotFound("a segment of a neighbour that has gone"));
  }
  const NeighbourAsk ask{
      .what = NeighbourAsk::What::kSegment, .request = ++last_request_, .number = number};
  const Status sent = net::SendPacketTo(found->second.socket.get(), PacketOf(parts_.ground, ask));
  if (sent.code() == Code::kResourceExhausted) {
    return then(NotFound("a segment of a neighbour that has too much to read"));
  }
  if (!sent.ok()) {
    Forget(neighbour, false);
    return then(NotFound("a segment of a neighbour that has gone"));
  }
  const net::TimerId deadline =
      reactor_.AddOnce(kPatience, [this, neighbour] { OnSilence(known_.at(neighbour)); });
  found->second.wanted.emplace(ask.request, Wanted{number, std::move(then), deadline});
}

void Neighbours::Look() {
  const SteadyTime now = reactor_.clock().Now();
  if (parts_.directory.empty() || (looked_ != SteadyTime::min() && now - looked_ < kLookEvery)) {
    return;
  }
  looked_ = now;
  std::erase_if(left_alone_, [&](const auto& entry) { return entry.second <= now; });
  std::set<std::string> have{parts_.own};
  for (const auto& [id, of] : known_) have.insert(of.name);
  for (const std::string& name : NamesIn(parts_.directory)) {
    if (known_.size() >= kMost || last_id_ >= parts_.most_id) return;
    if (!have.contains(name) && !left_alone_.contains(name)) Connect(name);
  }
}

void Neighbours::Connect(const std::string& name) {
  Result<UniqueFd> socket = net::ConnectToUser(parts_.directory + "/" + name);
  if (!socket.ok()) return;  // it has ended, or is another user's
  const std::uint64_t id = ++last_id_;
  reactor_.WatchFd(socket->get(), [this, id] { OnPacket(id); });
  Known& of = known_[id];
  of.name = name;
  of.socket = std::move(socket).value();
}

void Neighbours::OnPacket(std::uint64_t id) {
  Known& of = known_.at(id);
  NeighbourPacket packet;
  net::TakenPacket taken = net::TakePacket(of.socket.get(), packet);
  if (taken.event == net::TakenPacket::Event::kNothing) return;
  if (taken.event == net::TakenPacket::Event::kHangup) {
    // Who hangs up before it has said anything has refused us.
    return Forget(id, of.version == 0);
  }
  Result<NeighbourTold> told = InvalidArgument("a packet of another size");
  if (taken.bytes == packet.size()) told = ReadNeighbourTold(parts_.ground, packet);
  std::optional<Answered> answered;
  const Status status =
      told.ok() ? OnTold(of, *told, std::move(taken.descriptor), answered) : told.status();
  if (!status.ok()) {
    if (status.code() != Code::kUnsupported) {
      LogWarning("no leaves are taken of the worker at " + parts_.directory + "/" + of.name + ": " +
                 status.message());
    }
    Forget(id, true);
  }
  EndRoundIfAllAnswered();
  // Last: it may ask again, and have `of` forgotten.
  if (answered) answered->then(std::move(answered->file));
}

Status Neighbours::OnTold(Known& of, const NeighbourTold& told, UniqueFd descriptor,
                          std::optional<Answered>& answered) {
  if (told.request == of.index_request && told.request != 0) {
    of.index_request = 0;
    of.late = of.silent = false;
    return OnIndex(of, told, std::move(descriptor));
  }
  auto wanted = of.wanted.extract(told.request);
  if (!wanted) return {};  // it came late
  of.silent = false;
  reactor_.CancelTimer(wanted.mapped().deadline);
  Result<File> file = SegmentOf(wanted.mapped().number, told, std::move(descriptor));
  const Status status = file.status();
  answered = {std::move(wanted.mapped().then), std::move(file)};
  return status.code() == Code::kNotFound ? Status() : status;
}

Status Neighbours::OnIndex(Known& of, const NeighbourTold& told, UniqueFd descriptor) {
  if (of.mute && of.index) ++version_;
  of.mute = false;
  if (told.how == NeighbourTold::How::kSame && of.version != 0) return {};
  if (told.how != NeighbourTold::How::kHere || told.version == 0) {
    return InvalidArgument("an answer without an index");
  }
  std::shared_ptr<const SealedMemory> index;
  if (told.size > 0) {
    // None is left in this process: it is as if nothing new was said.
    if (!descriptor.valid()) return {};
    HR_TRY(index, SealedMemory::Take(std::move(descriptor), parts_.most_index_bytes));
    if (index->bytes().size() != told.size || !parts_.is_index(index->bytes())) {
      return InvalidArgument("a damaged index");
    }
  }
  if (of.index || index) ++version_;
  of.index = std::move(index);
  of.version = told.version;
  return {};
}

Result<Neighbours::File> Neighbours::SegmentOf(std::uint64_t number, const NeighbourTold& told,
                                               UniqueFd descriptor) const {
  if (told.how == NeighbourTold::How::kNothing) {
    return NotFound("a segment that a neighbour has given up");
  }
  if (told.how != NeighbourTold::How::kHere) {
    return InvalidArgument("an answer without a segment");
  }
  if (!descriptor.valid()) return NotFound("a segment that no descriptor was left for");
  if (parts_.is_of_a_file(number)) {
    // Lanes read it, and believe nothing. But a pipe would have them wait.
    struct stat st;
    if (::fstat(descriptor.get(), &st) != 0 || !S_ISREG(st.st_mode)) {
      return InvalidArgument("a segment that is no file");
    }
  } else {
    // A map of memory that can be cut would end the lane.
    HR_TRY(const std::size_t size,
           SealedMemory::SizeOf(descriptor.get(), parts_.most_segment_bytes));
    if (size != told.size) return InvalidArgument("a segment of another size");
  }
  return File{std::move(descriptor), told.size};
}

void Neighbours::Forget(std::uint64_t id, bool leave_alone) {
  auto gone = known_.extract(id);
  if (!gone) return;  // whoever waited for it has had it forgotten
  Known& of = gone.mapped();
  reactor_.UnwatchFd(of.socket.get());
  if (leave_alone) left_alone_[of.name] = reactor_.clock().Now() + kLeftAlone;
  if (of.index && !of.mute) ++version_;
  awaited_.erase(id);
  TellNothing(std::exchange(of.wanted, {}));
  EndRoundIfAllAnswered();
}

void Neighbours::OnSilence(Known& of) {
  // Whoever makes an index answers nothing meanwhile. Whether that takes too long, the next round tells.
  if (of.index_request == 0 && std::exchange(of.silent, true)) return Mute(of);
  TellNothing(std::exchange(of.wanted, {}));  // each would wait as long
}

void Neighbours::Mute(Known& of) {
  if (of.index && !of.mute) ++version_;
  of.mute = true;
  TellNothing(std::exchange(of.wanted, {}));
}

void Neighbours::TellNothing(WantedByRequest wanted) {
  for (auto& [request, each] : wanted) reactor_.CancelTimer(each.deadline);
  for (auto& [request, each] : wanted) {
    each.then(NotFound("a segment of a neighbour that has gone, or is silent"));
  }
}

void Neighbours::OnLate() {
  late_ = 0;
  for (const std::uint64_t id : std::exchange(awaited_, {})) {
    const auto of = known_.find(id);
    if (of == known_.end()) continue;  // whoever waited for another has had it forgotten
    if (of->second.late)
      Mute(of->second);
    else
      of->second.late = true;
  }
  EndRoundIfAllAnswered();
}

void Neighbours::EndRoundIfAllAnswered() {
  std::erase_if(awaited_, [this](std::uint64_t id) { return known_.at(id).index_request == 0; });
  if (!awaited_.empty() || refreshing_.empty()) return;
  if (late_ != 0) reactor_.CancelTimer(late_);
  late_ = 0;
  for (const auto& then : std::exchange(refreshing_, {})) then();
}

}  // namespace headrace::dataworker
