#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "dataworker/cache/chunk.h"
#include "dataworker/cache/marked_files.h"
#include "dataworker/cache/sample_store.h"
#include "dataworker/neighbours/neighbours.h"

namespace headrace::dataworker {

// What lanes of Python stages have read and decoded (leaves), for all lanes of this user on this host. A lane
// hands over a *segment*: a sealed memory file with entries, and at its end a row for each. The worker's store
// keeps it as a chunk of the job's (SampleStore::TakeOver), so quotas, eviction and counts are those of all
// entries. Lanes get an *index* of what is there, another memory file, and map the segments that they use.
// So a lookup is no question, and what has been evicted is a segment that is not found.
// docs/adr/0086-leaves-of-stages.md.
//
// What memory has no room for goes to a tier of files, if there is one and it pays: as records, which lanes read
// by themselves. The index names both. docs/adr/0108-leaves-on-disk.md.
//
// What neighbours keep is in the lanes' index, too, after what is kept here, and under numbers of its own. It is no
// part of what neighbours are told. docs/adr/0115-leaves-of-a-host.md.
//
// Rows are lanes' words: whoever may hand over a segment may do what it wants to its own user's programs
// anyway. They are checked against the segment's size, and named apart from all that the worker makes.
// Reactor thread.
class LeafShelf {
 public:
  // Of a segment: tag, place (2), version (3), form (2), offset, bytes, nanoseconds that it took to make.
  using Row = std::array<std::uint64_t, 11>;
  // Of an index, sorted by tag: the same up to the form, then segment, offset, bytes. The second kind has what it
  // took to make, too (ns), and names what lies in files: of such a segment kOfFile is set, and the offset is that
  // of the record.
  using IndexRow = std::array<std::uint64_t, 11>;
  using FullRow = std::array<std::uint64_t, 12>;
  static constexpr std::uint64_t kOfFile = std::uint64_t{1} << 63;
  // Of a neighbour's segment these bits are its id. So of equal ones those in memory here come first, then those in a
  // neighbour's memory, then files.
  static constexpr std::uint64_t kOfNeighbour = Neighbours::kMostId << Neighbours::kNumberBits;
  static constexpr std::size_t kMostSegmentBytes = std::size_t{1} << 30;
  static constexpr std::size_t kMostRows = std::size_t{1} << 18;  // of an index
  static constexpr std::size_t kMostSegments = 1024;              // each is a descriptor
  // Of an index, before what came to files or left them makes another: each write is a change. A leaf that it does
  // not name yet, or no longer should, is a miss. A large one is made on this thread in up to 0.1 s, 0.4 us a row. So
  // it gets older by its rows, whatever has changed: under 4% of the thread's time.
  static constexpr Duration kLeastAge = std::chrono::milliseconds(250);
  static constexpr Duration kAgeOfRow = std::chrono::microseconds(10);

  explicit LeafShelf(std::shared_ptr<SampleStore> store) : store_(std::move(store)) {}

  // Takes a segment of the job's, whose rows are the last `rows` * sizeof(Row) bytes before `end`.
  // kInvalidArgument: it is not sealed, or its rows lie outside. kResourceExhausted: there is no room.
  Status Put(JobId job, UniqueFd memory, std::uint64_t rows, std::uint64_t end);
  struct File {
    UniqueFd memory;
    std::uint64_t bytes = 0;
  };
  // All that is there, in full rows: the same memory for all lanes until something comes or goes; in files, or
  // where it is large, as kLeastAge says. Errors of MemoryFile.
  Result<File> Index(SteadyTime now);
  // For neighbours: what is kept here, and which version of it that is; no memory if it is still the one that they
  // have. Errors of MemoryFile.
  struct Offer {
    File file;
    std::uint64_t version = 0;  // never 0
  };
  Result<Offer> IndexForNeighbours(std::uint64_t have, SteadyTime now);
  // Whether rows of a neighbour's index can be taken into that of lanes: they are whole, and their numbers leave room
  // for its id.
  [[nodiscard]] static bool IsIndex(ByteSpan index);
  // What neighbours keep from now on. `version`: grows with any change. REQUIRES: IsIndex, of each.
  void SetNeighbours(std::vector<Neighbours::Offered> neighbours, std::uint64_t version);
  // What is there in memory, for lanes of a release that knows no files. Made anew each time.
  Result<File> IndexOfMemory();
  // A segment that is kept here and that an index names. `user`: the job whose lane asks, which counts as its user.
  // Nothing: a neighbour's, which this store does not know, so it takes no other's place. kNotFound: it was given up.
  Result<File> Segment(std::optional<JobId> user, std::uint64_t segment);
  // Of a neighbour's segment: the neighbour's id, and its own number for it. Id 0: the segment is kept here.
  struct Place {
    std::uint64_t neighbour = 0, number = 0;
  };
  [[nodiscard]] static Place PlaceOf(std::uint64_t segment) {
    return {(segment & kOfNeighbour) >> Neighbours::kNumberBits, segment & ~kOfNeighbour};
  }
  // Bytes that Put may take of the job now.
  [[nodiscard]] SampleStore::Room Room(JobId job) const { return store_->RoomToTakeOver(job); }
  // What reading from the tier of files takes; nothing: there is none.
  [[nodiscard]] std::optional<ReadCost> CostOfFiles() const;

 private:
  struct Kept {
    std::weak_ptr<Chunk> chunk;
    std::vector<Row> rows;
  };
  // An index, and of what it was made.
  struct Made {
    File file;
    std::uint64_t number = 0;  // how often it was made
    std::uint64_t segments = 0, files = 0, neighbours = 0;
    SteadyTime at{};
    // That it has before it is made again.
    [[nodiscard]] Duration Age() const {
      const auto rows = static_cast<Duration::rep>(file.bytes / sizeof(FullRow));
      return std::max<Duration>(kLeastAge, rows * kAgeOfRow);
    }
  };
  // Makes it again if that is due.
  Status Renew(Made& made, bool of_neighbours, SteadyTime now) const;
  template <typename Row>
  [[nodiscard]] Result<File> MakeIndex(bool of_neighbours) const;
  void AddNeighbours(std::vector<FullRow>& index) const;
  // Forgets what the store has given up.
  void Sweep();

  const std::shared_ptr<SampleStore> store_;
  std::map<std::uint64_t, Kept> segments_;
  std::vector<Neighbours::Offered> neighbours_;
  Made own_, all_;  // the last ones that were made; without neighbours lanes get the first
  std::uint64_t segments_version_ = 1;    // grows with any change of segments_
  std::uint64_t neighbours_version_ = 0;  // as SetNeighbours was told
  std::uint64_t next_ = 1;
};

}  // namespace headrace::dataworker
