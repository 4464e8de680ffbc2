#include "dataworker/share/pictures_ahead.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace headrace::dataworker {
namespace {

// Where the fields of a row begin.
constexpr std::size_t kAheadFile = 1, kAheadPlace = 6, kAheadBytes = 7, kAheadWidth = 8,
                      kAheadHeight = 9, kAheadTook = 10, kAheadAs = 11;

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
      MakeRoom(now);
      if (lines_.size() >= kMostLanes) {
        return ResourceExhausted("pictures are decoded ahead for other lanes");
      }
      found = lines_.try_emplace(lane).first;
    }
    Result<Told> said = AskOf(found->second, question, now);
    if (!said.ok()) {
      lines_.erase(found);  // it would keep others out
      return said.status();
    }
    told = std::move(said).value();
    more = Begin();
  }
  for (int i = 0; i < more; ++i) {
    threads_.Submit([this] { Run(); });
  }
  return told;
}

Result<PicturesAhead::Told> PicturesAhead::AskOf(Line& line, Question& question, SteadyTime now) {
  // Each epoch has a process of its own for a lane, whose samples are numbered from 0 on again. It asks for the
  // memory first. The one before it may still read the ring it had, so that one is never written again.
  if (question.at < line.next.at() || (question.wants_memory && line.ring)) line = Line();
  line.asked = now;
  if (!line.ring && idle_.free(now) > 0) {
    HR_TRY(WorkerMemory::Lease lease,
           parts_.memory->Take(PictureRing::kBytes, "pictures that are decoded ahead"));
    HR_TRY(line.ring, PictureRing::Make(std::move(lease)));
  }
  Pass(line, question.at);
  if (line.as != question.as) Change(line, question.as);
  for (AheadLine::Wanted& wanted : question.wanted) line.next.Add(std::move(wanted));
  Told told;
  told.cores = idle_.free(now);
  told.rows.swap(line.news);
  if (line.ring && (question.wants_memory || !line.is_given)) {
    told.memory = UniqueFd(::fcntl(line.ring->descriptor(), F_DUPFD_CLOEXEC, 0));
    if (!told.memory.valid()) return ErrnoStatus(errno, "a descriptor for pictures");
    line.is_given = true;
  }
  return told;
}

void PicturesAhead::MakeRoom(SteadyTime now) {
  DropSilent(now);
  if (lines_.size() < kMostLanes) return;
  const auto bare =
      std::ranges::find_if(lines_, [](const auto& entry) { return !entry.second.ring; });
  if (bare != lines_.end()) lines_.erase(bare);
}

void PicturesAhead::DropSilent(SteadyTime now) {
  std::erase_if(lines_, [now](const auto& entry) {
    return entry.second.making == 0 && now - entry.second.asked >= kKeeps;
  });
}

void PicturesAhead::GiveBack() {
  const SteadyTime now = parts_.now();
  const std::lock_guard lock(mutex_);
  DropSilent(now);
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

void PicturesAhead::Change(Line& line, As as) {
  for (const auto& [number, row] : line.rows) line.ring->Free(row[kAheadPlace], row[kAheadBytes]);
  line.rows.clear();
  line.news.clear();
  line.next.Clear();
  line.is_full = false;
  line.as = as;
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

std::unique_ptr<IdleThread> PicturesAhead::TakeIdleThread() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_threads_.empty()) {
      std::unique_ptr<IdleThread> idle = std::move(idle_threads_.back());
      idle_threads_.pop_back();
      return idle;
    }
  }
  return std::make_unique<IdleThread>();
}

void PicturesAhead::Run() {
  std::unique_ptr<IdleThread> idle;
  while (std::optional<Work> work = Take()) {
    if (!idle) idle = TakeIdleThread();
    Decode(*idle, std::move(*work));
  }
  if (!idle) return;
  const std::lock_guard lock(mutex_);
  idle_threads_.push_back(std::move(idle));
}

void PicturesAhead::Decode(IdleThread& idle, Work work) {
  std::optional<std::size_t> place;
  std::size_t size = 0;
  bool was_full = false;
  const auto line_of = [&]() -> Line* {
    const auto found = lines_.find(work.lane);
    return found != lines_.end() && found->second.ring == work.ring ? &found->second : nullptr;
  };
  const auto take = [&](std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    Line* const line = line_of();
    if (line == nullptr || line->as != work.as) return;  // nobody wants it any more
    place = work.ring->Take(bytes);
    was_full = line->is_full = !place;
    size = bytes;
  };
  const Room room = [&](std::size_t bytes) -> std::optional<MutableByteSpan> {
    if (bytes == 0 || bytes > kMostPixelBytes || place) return std::nullopt;
    idle.AtOwner([&] { take(bytes); });
    if (!place) return std::nullopt;
    return work.ring->At(*place, bytes);
  };
  Decoded decoded;
  idle.Run([&] { decoded = parts_.decoder(work.wanted.path, work.as, room); });
  const std::lock_guard lock(mutex_);
  own_seconds_ += static_cast<double>(decoded.cpu_ns) * 1e-9;
  Line* const line = line_of();
  if (line == nullptr) return;
  --line->making;
  const std::int64_t number = work.wanted.number;
  const bool is_wanted = work.as == line->as && number >= line->next.at();
  if (decoded.what != Decoded::What::kDone || !place || !is_wanted) {
    if (place) work.ring->Free(*place, size);
    // Though the lane may have made room by now.
    if (was_full && is_wanted) {
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
  row[kAheadAs] = static_cast<std::uint64_t>(work.as);
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
  idle_threads_.clear();
}

}  // namespace headrace::dataworker
