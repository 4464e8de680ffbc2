#include "dataworker/share/files_ahead.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include "base/process/stats.h"
#include "dataworker/source/files/sample_file.h"

namespace headrace::dataworker {
namespace {

constexpr std::size_t kAheadPiece = std::size_t{256} << 10;

FilesAhead::Found ReadFileAhead(const Opener& opener, const std::string& path) {
  const std::uint64_t waits = UsageOfThisThread().waits;
  Pace patient;
  const Result<File> file = opener.Open(path, patient);
  struct stat st;
  if (!file.ok() || ::fstat(file->fd(), &st) != 0 || !S_ISREG(st.st_mode)) {
    return FilesAhead::Found::kNone;  // whoever reads it says why
  }
  const auto size = static_cast<std::uint64_t>(st.st_size);
  if (size > FilesAhead::kMostBytes) return FilesAhead::Found::kNone;
  Pace hasty{.may_wait = false};
  CheckInMemory(file->fd(), 0, size, hasty);
  if (hasty.given_up()) {
    // All of it at once; then a read, which shows whether it was there, and ends when it is.
    (void)::posix_fadvise(file->fd(), 0, 0, POSIX_FADV_WILLNEED);
    const auto piece = std::make_unique_for_overwrite<std::byte[]>(kAheadPiece);
    for (std::uint64_t at = 0; at < size; at += kAheadPiece) {
      const std::size_t wanted = std::min<std::uint64_t>(kAheadPiece, size - at);
      const Result<std::size_t> got =
          ReadFrom(file->fd(), at, {piece.get(), wanted}, path, patient);
      if (!got.ok() || *got < wanted) break;
    }
  }
  // Where the kernel says that it is not there, the device may still be faster than the second read.
  const bool waited = hasty.would_wait || UsageOfThisThread().waits != waits;
  return waited ? FilesAhead::Found::kWaitedFor : FilesAhead::Found::kInMemory;
}

}  // namespace

FilesAhead::Reader FilesAhead::FromDisk(std::vector<std::string> allowed_roots) {
  const auto opener = std::make_shared<const Opener>(std::move(allowed_roots));
  return [opener](const std::string& path) { return ReadFileAhead(*opener, path); };
}

void FilesAhead::Read(SessionId session, std::vector<std::string> paths) {
  int more = 0;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    Line& line = lines_[session];
    for (std::string& path : paths) line.waiting.push_back(std::move(path));
    waiting_ += paths.size();
    while (line.waiting.size() > kMostWaiting) {
      line.waiting.pop_front();  // the code has passed it, or will in a moment
      --waiting_;
    }
    const auto wanted = static_cast<int>(std::min<std::size_t>(waiting_, most_reading_));
    more = std::max(0, wanted - reading_);
    reading_ += more;
  }
  for (int i = 0; i < more; ++i) {
    io_.Submit([self = shared_from_this()] { self->Run(); });
  }
}

void FilesAhead::Remember(SessionId session, std::int64_t key, std::vector<std::string> paths) {
  constexpr std::size_t kEach = 64;  // of a string and of a place in the map, about
  std::size_t bytes = kEach;
  for (const std::string& path : paths) bytes += path.size() + kEach;
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  Line& line = lines_[session];
  if (line.remembered_bytes + bytes > kMostRememberedBytes) return;
  const auto [place, is_new] = line.remembered.try_emplace(key);
  if (is_new) line.remembered_bytes += bytes;
  // Other files than before: their names have about the same length.
  place->second = std::move(paths);
}

void FilesAhead::ReadOf(SessionId session, const std::vector<std::int64_t>& keys) {
  std::vector<std::string> paths;
  {
    const std::lock_guard lock(mutex_);
    const auto line = lines_.find(session);
    if (line == lines_.end()) return;
    for (const std::int64_t key : keys) {
      const auto known = line->second.remembered.find(key);
      if (known == line->second.remembered.end()) continue;
      paths.insert(paths.end(), known->second.begin(), known->second.end());
    }
  }
  Read(session, std::move(paths));
}

bool FilesAhead::Take(SessionId& session, std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto waits = [](const auto& entry) { return !entry.second.waiting.empty(); };
  auto next = std::find_if(lines_.upper_bound(last_), lines_.end(), waits);
  if (next == lines_.end()) next = std::find_if(lines_.begin(), lines_.end(), waits);
  if (stopped_ || next == lines_.end()) {
    --reading_;
    return false;
  }
  session = last_ = next->first;
  path = std::move(next->second.waiting.front());
  next->second.waiting.pop_front();
  --waiting_;
  return true;
}

// One file, and then the place in the line goes to whoever came meanwhile.
void FilesAhead::Run() {
  SessionId session;
  std::string path;
  if (!Take(session, path)) return;
  const Found found = reader_(path);
  {
    const std::lock_guard lock(mutex_);
    const auto line = lines_.find(session);
    if (line != lines_.end() && found != Found::kNone) {
      ++line->second.counts.looked_at;
      line->second.counts.waited_for += found == Found::kWaitedFor ? 1 : 0;
    }
    if (stopped_ || waiting_ == 0) {
      --reading_;
      return;
    }
  }
  io_.Submit([self = shared_from_this()] { self->Run(); });
}

FilesAhead::Counts FilesAhead::TakeCounts(SessionId session) {
  const std::lock_guard lock(mutex_);
  const auto line = lines_.find(session);
  return line == lines_.end() ? Counts() : std::exchange(line->second.counts, Counts());
}

void FilesAhead::Forget(SessionId session) {
  const std::lock_guard lock(mutex_);
  const auto line = lines_.find(session);
  if (line == lines_.end()) return;
  waiting_ -= line->second.waiting.size();
  lines_.erase(line);
}

void FilesAhead::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  lines_.clear();
  waiting_ = 0;
}

}  // namespace headrace::dataworker
