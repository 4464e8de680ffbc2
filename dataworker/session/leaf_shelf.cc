#include "dataworker/session/leaf_shelf.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

#include "base/pass/digest.h"
#include "dataworker/cache/sealed_memory.h"
#include "dataworker/stage/stage_request.h"

namespace headrace::dataworker {
namespace {

// Where the fields of a row begin.
constexpr std::size_t kRowPlace = 1, kRowVersion = 3, kRowForm = 6, kRowOffset = 8, kRowBytes = 9,
                      kRowCost = 10;

// No lane can name an entry that the worker makes by itself: its form is hashed once more.
EntryForm LeafFormOf(const LeafShelf::Row& row) {
  const std::array<ByteSpan, 2> parts{AsBytes("a leaf of a stage"),
                                      std::as_bytes(std::span(row)).subspan(kRowForm * 8, 2 * 8)};
  const Digest digest = DigestOf(parts);
  return {digest[0], digest[1]};
}

SealedEntry LeafEntryOf(const LeafShelf::Row& row) {
  SealedEntry entry;
  std::copy_n(row.begin() + kRowPlace, entry.key.content.place.size(),
              entry.key.content.place.begin());
  std::copy_n(row.begin() + kRowVersion, entry.key.content.version.size(),
              entry.key.content.version.begin());
  entry.key.content.SetReach(NameReach::kHost);
  entry.key.form = LeafFormOf(row);
  entry.offset = row[kRowOffset];
  entry.bytes = row[kRowBytes];
  constexpr std::uint64_t kLongest = 3'600'000'000'000;
  entry.cost = std::chrono::nanoseconds(std::min(row[kRowCost], kLongest));
  // The key has lost these: the form is hashed, and a bit of the place says how far it holds.
  entry.mark = {row[0], row[kRowForm], row[kRowForm + 1], row[kRowPlace]};
  return entry;
}

LeafShelf::FullRow RowOf(const MarkedEntry& entry) {
  const auto& [place, version] = entry.key.content;
  const auto cost = static_cast<std::uint64_t>(std::max<Duration::rep>(entry.cost.count(), 0));
  return {entry.mark[0], entry.mark[3], place[1],
          version[0],    version[1],    version[2],
          entry.mark[1], entry.mark[2], entry.file | LeafShelf::kOfFile,
          entry.offset,  entry.bytes,   cost};
}

// Another descriptor of it.
Result<LeafShelf::File> CopyOf(const LeafShelf::File& file) {
  UniqueFd copy(::fcntl(file.memory.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return ErrnoStatus(errno, "a descriptor for leaves");
  return LeafShelf::File{std::move(copy), file.bytes};
}

}  // namespace

Status LeafShelf::Put(JobId job, UniqueFd memory, std::uint64_t rows, std::uint64_t end) {
  HR_TRY(const auto sealed, SealedMemory::Take(std::move(memory), kMostSegmentBytes));
  const std::uint64_t size = sealed->bytes().size();
  if (rows == 0 || rows > kMostRows || end > size || rows * sizeof(Row) > end) {
    return InvalidArgument("a segment whose rows lie outside of it");
  }
  const std::uint64_t begin = end - rows * sizeof(Row);
  Kept kept{.chunk = {}, .rows = std::vector<Row>(rows)};
  std::memcpy(kept.rows.data(), sealed->bytes().data() + begin, rows * sizeof(Row));
  std::vector<SealedEntry> entries;
  entries.reserve(rows);
  for (const Row& row : kept.rows) {
    if (row[kRowOffset] > begin || row[kRowBytes] > begin - row[kRowOffset]) {
      return InvalidArgument("a segment whose entries lie outside of it");
    }
    entries.push_back(LeafEntryOf(row));
  }
  Sweep();
  if (segments_.size() >= kMostSegments) return ResourceExhausted("too many segments of leaves");
  const TakenOver taken = store_->TakeOver(job, sealed, entries);
  if (taken.entries == 0) return ResourceExhausted("no room for leaves");
  if (!taken.chunk) return {};  // they are in files
  kept.chunk = taken.chunk;
  segments_.emplace(next_++, std::move(kept));
  ++segments_version_;
  return {};
}

Status LeafShelf::Renew(Made& made, bool of_neighbours, SteadyTime now) const {
  const MarkedFiles* const files = store_->files();
  const std::uint64_t files_version = files == nullptr ? 0 : files->version();
  const std::uint64_t neighbours = of_neighbours ? neighbours_version_ : 0;
  const Duration least = made.Age();
  const bool segments_changed = made.segments != segments_version_ || made.neighbours != neighbours;
  const bool changed = segments_changed || made.files != files_version;
  const bool at_once = segments_changed && least == kLeastAge;
  if (made.number != 0 && !at_once && (!changed || now - made.at < least)) return {};
  HR_TRY(made.file, MakeIndex<FullRow>(of_neighbours));
  ++made.number;
  made.segments = segments_version_;
  made.files = files_version;
  made.neighbours = neighbours;
  made.at = now;
  return {};
}

Result<LeafShelf::File> LeafShelf::Index(SteadyTime now) {
  Sweep();
  const bool of_neighbours = !neighbours_.empty();
  Made& made = of_neighbours ? all_ : own_;
  HR_RETURN_IF_ERROR(Renew(made, of_neighbours, now));
  // Neighbours that come and go do not make a large one again and again.
  if (!of_neighbours && now - all_.at >= all_.Age()) all_ = {};
  return CopyOf(made.file);
}

Result<LeafShelf::Offer> LeafShelf::IndexForNeighbours(std::uint64_t have, SteadyTime now) {
  Sweep();
  HR_RETURN_IF_ERROR(Renew(own_, false, now));
  if (have == own_.number) return Offer{.file = {}, .version = have};
  HR_TRY(File file, CopyOf(own_.file));
  return Offer{std::move(file), own_.number};
}

bool LeafShelf::IsIndex(ByteSpan index) {
  if (index.size() % sizeof(FullRow) != 0) return false;
  for (std::size_t at = 0; at < index.size(); at += sizeof(FullRow)) {
    std::uint64_t segment = 0;
    std::memcpy(&segment, index.data() + at + kRowOffset * sizeof(segment), sizeof(segment));
    if ((segment & kOfNeighbour) != 0) return false;
  }
  return true;
}

void LeafShelf::SetNeighbours(std::vector<Neighbours::Offered> neighbours, std::uint64_t version) {
  neighbours_ = std::move(neighbours);
  neighbours_version_ = version;
}

Result<LeafShelf::File> LeafShelf::IndexOfMemory() {
  Sweep();
  return MakeIndex<IndexRow>(false);
}

template <typename MadeRow>
Result<LeafShelf::File> LeafShelf::MakeIndex(bool of_neighbours) const {
  constexpr bool kIsFull = std::is_same_v<MadeRow, FullRow>;
  std::vector<MadeRow> index;
  for (const auto& [id, kept] : segments_) {
    for (const Row& row : kept.rows) {
      if (index.size() == kMostRows) break;
      MadeRow& made = index.emplace_back();
      std::copy_n(row.begin(), kRowOffset, made.begin());
      made[kRowOffset] = id;
      made[kRowOffset + 1] = row[kRowOffset];
      made[kRowOffset + 2] = row[kRowBytes];
      if constexpr (kIsFull) made[kRowOffset + 3] = row[kRowCost];
    }
  }
  if constexpr (kIsFull) {
    if (const MarkedFiles* const files = store_->files()) {
      for (const MarkedEntry& entry : files->List(kMostRows - index.size())) {
        index.push_back(RowOf(entry));
      }
    }
    if (of_neighbours) AddNeighbours(index);
  }
  // Of equal ones memory first: the segments of files have the greater numbers.
  std::ranges::sort(index);
  HR_TRY(UniqueFd file, MemoryFile("headrace-leaves", std::as_bytes(std::span(index))));
  return File{std::move(file), index.size() * sizeof(MadeRow)};
}

void LeafShelf::AddNeighbours(std::vector<FullRow>& index) const {
  for (const auto& [id, offered] : neighbours_) {
    const ByteSpan rows = offered->bytes();
    const std::size_t count =
        std::min(rows.size() / sizeof(FullRow), kMostRows - std::min(index.size(), kMostRows));
    const std::size_t first = index.size();
    index.resize(first + count);
    std::memcpy(index.data() + first, rows.data(), count * sizeof(FullRow));
    for (std::size_t i = first; i < index.size(); ++i) {
      index[i][kRowOffset] |= id << Neighbours::kNumberBits;
    }
  }
}

std::optional<ReadCost> LeafShelf::CostOfFiles() const {
  const MarkedFiles* const files = store_->files();
  if (files == nullptr) return std::nullopt;
  return files->Cost();
}

Result<LeafShelf::File> LeafShelf::Segment(std::optional<JobId> user, std::uint64_t segment) {
  if (MarkedFiles* const files = store_->files(); files != nullptr && (segment & kOfFile) != 0) {
    HR_TRY(MarkedFiles::File file, files->Open(user, segment & ~kOfFile));
    return File{std::move(file.descriptor), file.bytes};
  }
  const auto found = segments_.find(segment);
  const std::shared_ptr<Chunk> chunk =
      found == segments_.end() ? nullptr : found->second.chunk.lock();
  if (!chunk) return NotFound("a segment of leaves that was given up");
  const auto memory = std::dynamic_pointer_cast<SealedMemory>(chunk->body());
  if (!memory) return NotFound("a segment of leaves that was given up");
  if (user) chunk->SetUser(*user);
  UniqueFd copy(::fcntl(memory->descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return ErrnoStatus(errno, "a descriptor for leaves");
  return File{std::move(copy), memory->bytes().size()};
}

void LeafShelf::Sweep() {
  const auto gone = [](const auto& entry) { return entry.second.chunk.expired(); };
  if (std::erase_if(segments_, gone) > 0) ++segments_version_;
}

}  // namespace headrace::dataworker
