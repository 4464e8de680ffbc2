#include "dataworker/share/pictures_ahead.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "dataworker/exec/idle_priority.h"

namespace headrace::dataworker {
namespace {

// Where the fields of a row begin.
constexpr std::size_t kAheadFile = 1, kAheadPlace = 6, kAheadBytes = 7, kAheadWidth = 8,
                      kAheadHeight = 9, kAheadTook = 10;

}  // namespace

Result<PicturesAhead::Told> PicturesAhead::Ask(SessionId session, Question question) {
  if (parts_.threads == 0) return Unsupported("no picture is decoded ahead here");
  const SteadyTime now = parts_.now();
  Look(now);
  int more = 0;
  Told told;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return Unsupported("no picture is decoded ahead any more");
    const Lane lane{session, question.lane};
    auto found = lines_.find(lane);
    if (found == lines_.end()) {
      if (lines_.size() >= kMostLanes) {
        return ResourceExhausted("pictures are decoded ahead for other lanes");
      }
      found = lines_.try_emplace(lane).first;
    }
    Line& line = found->second;
    // Each epoch has a process of its own for a lane, which asks for the memory first.
    if (question.at < line.next.at() || (question.wants_memory && line.ring)) Renew(line);
    if (!line.ring && idle_.free(now) > 0) {
      HR_TRY(WorkerMemory::Lease lease,
             parts_.memory->Take(PictureRing::kBytes, "pictures that are decoded ahead"));
      HR_TRY(line.ring, PictureRing::Make(std::move(lease)));
    }
    Pass(line, question.at);
    line.as = question.as;
    for (AheadLine::Wanted& wanted : question.wanted) line.next.Add(std::move(wanted));
    told.cores = idle_.free(now);
    told.rows.swap(line.news);
    if (question.wants_memory && line.ring) {
      told.memory = UniqueFd(::fcntl(line.ring->descriptor(), F_DUPFD_CLOEXEC, 0));
      if (!told.memory.valid()) return ErrnoStatus(errno, "a descriptor for pictures");
    }
    more = Begin();
  }
  for (int i = 0; i < more; ++i) {
    threads_.Submit([this] { Run(); });
  }
  return told;
}

void PicturesAhead::Look(SteadyTime now) {
  double own = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.WantsLook(now)) return;
    own = own_seconds_;
  }
  std::optional<ProcessorUse> use = parts_.use();
  const std::lock_guard lock(mutex_);
  idle_.See(now, std::move(use), own);
}

int PicturesAhead::Begin() {
  std::size_t waiting = 0;
  for (const auto& [lane, line] : lines_) waiting += line.ring ? line.next.size() : 0;
  const int most = std::min(idle_.free(parts_.now()), parts_.threads);
  const auto wanted = static_cast<int>(std::min<std::size_t>(waiting, most));
  const int more = std::max(0, wanted - running_);
  running_ += more;
  return more;
}

void PicturesAhead::Renew(Line& line) {
  if (line.making > 0) {  // which would have a number of before
    line = Line();
    return;
  }
  for (const auto& [number, row] : line.rows) line.ring->Free(row[kAheadPlace], row[kAheadBytes]);
  line.rows.clear();
  line.news.clear();
  line.next = AheadLine();
  line.is_full = false;
}

void PicturesAhead::Pass(Line& line, std::int64_t at) {
  line.next.At(at);
  const auto end = line.rows.lower_bound(line.next.at());
  for (auto row = line.rows.begin(); row != end; ++row) {
    line.ring->Free(row->second[kAheadPlace], row->second[kAheadBytes]);
    line.is_full = false;
  }
  line.rows.erase(line.rows.begin(), end);
  std::erase_if(line.news,
                [&](const Row& row) { return static_cast<std::int64_t>(row[0]) < line.next.at(); });
}

std::optional<PicturesAhead::Work> PicturesAhead::Take() {
  const std::lock_guard lock(mutex_);
  if (!stopped_ && running_ <= idle_.free(parts_.now())) {
    // Lanes take turns: once around, from the one after the last.
    auto at = lines_.upper_bound(last_);
    for (std::size_t i = 0; i < lines_.size(); ++i, ++at) {
      if (at == lines_.end()) at = lines_.begin();
      Line& line = at->second;
      if (!line.ring || line.is_full) continue;
      if (auto wanted = line.next.Take()) {
        last_ = at->first;
        ++line.making;
        return Work{at->first, line.as, std::move(*wanted), line.ring};
      }
    }
  }
  --running_;
  return std::nullopt;
}

void PicturesAhead::Run() {
  while (std::optional<Work> work = Take()) Decode(std::move(*work));
}

void PicturesAhead::Decode(Work work) {
  std::optional<std::size_t> place;
  std::size_t size = 0;
  const auto line_of = [&]() -> Line* {
    const auto found = lines_.find(work.lane);
    return found != lines_.end() && found->second.ring == work.ring ? &found->second : nullptr;
  };
  const Room room = [&](std::size_t bytes) -> std::optional<MutableByteSpan> {
    if (bytes == 0 || bytes > kMostPixelBytes) return std::nullopt;
    const IdlePriority as_others(false);  // who waits for the lock is no idle one
    const std::lock_guard lock(mutex_);
    Line* const line = line_of();
    if (line == nullptr) return std::nullopt;  // nobody wants it any more
    place = work.ring->Take(bytes);
    line->is_full = !place;
    if (!place) return std::nullopt;
    size = bytes;
    return work.ring->At(*place, bytes);
  };
  const Decoded decoded = [&] {
    const IdlePriority idle;
    return parts_.decoder(work.wanted.path, work.as, room);
  }();
  const std::lock_guard lock(mutex_);
  own_seconds_ += static_cast<double>(decoded.cpu_ns) * 1e-9;
  Line* const line = line_of();
  if (line == nullptr) return;
  --line->making;
  const std::int64_t number = work.wanted.number;
  if (decoded.what != Decoded::What::kDone || number < line->next.at()) {
    if (place) work.ring->Free(*place, size);
    if (decoded.what == Decoded::What::kNoRoom && line->is_full) {
      line->next.Add(std::move(work.wanted));
    }
    return;
  }
  Row row{};
  row[0] = static_cast<std::uint64_t>(number);
  std::ranges::copy(decoded.file, row.begin() + kAheadFile);
  row[kAheadPlace] = *place;
  row[kAheadBytes] = size;
  row[kAheadWidth] = decoded.width;
  row[kAheadHeight] = decoded.height;
  row[kAheadTook] = decoded.cpu_ns;
  line->rows.emplace(number, row);
  line->news.push_back(row);
}

void PicturesAhead::Forget(SessionId session) {
  const std::lock_guard lock(mutex_);
  std::erase_if(lines_, [&](const auto& entry) { return entry.first.first == session; });
}

void PicturesAhead::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    lines_.clear();
  }
  threads_.Stop();
}

}  // namespace headrace::dataworker
