#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "dataworker/stage/frame_socket.h"
#include "remote/store.h"

namespace headrace::dataworker {

// What code of a stage asks its worker about objects (headrace/stage/object_reads.py), and lanes about leaves
// (headrace/stage/leaf_door.py) and about what they read next (headrace/stage/ahead_door.py).
struct ObjectAsk {
  // Values as there.
  enum class What : std::uint64_t {
    kLook = 0,   // size and version
    kRange = 1,  // `bytes` bytes from `first` on
    kWhole = 2,  // all of it, if it is no larger than `bytes`
    kList = 3,   // a page of names that begin with `name`
    kPaid = 4,   // nothing: this process has received `bytes` bytes by itself
    // Nothing: this process has found `first` leaves, and missed `bytes`; of files it says more (LeavesOfFiles).
    // The answer's size is room for more in memory; its version says more (AnswerLeafAsk).
    kLeafCounts = 8,
    kLeafIndex =
        5,  // the same, and what leaves there are. `size`: 1 if the process knows those in files
    kLeafSegment = 6,  // the memory, or the file, of segment `first`
    kLeafPut = 7,      // takes memory with `first` rows, the last of which ends at `bytes`
    // Lane `first` is about to read the files in `name` (Names), and those that are remembered of `keys`; it has
    // read what `opened` says. `few`: the keys that wait for the lane (i64), `size` and `count`:
    // FilesAhead::Counts of files that were asked for earlier.
    kAhead = 9,
    // Lane `first` is at the sample of Decoding::at, and will open `opened` (numbers of samples, and paths), which
    // may be decoded meanwhile. `few`: the keys that wait for the lane, and rows (AheadPictures); `size`: cores that
    // idle. With memory, if it wants it, or rows lie in another one from now on: a PictureRing.
    kDecode = 10,
  };
  // The most bytes of one answer.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

  What what = What::kLook;
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
  remote::StoreSpec store;
  std::string name;        // "s3://bucket/key"
  std::string version;     // that is meant; empty: any
  std::uint64_t size = 0;  // of the object in that version
  std::string delimiter;   // kList
  std::string token;       // kList: of the page; empty: the first one

  // kInvalidArgument: the frame is no such question, or goes beyond a bound. Its sender may be hostile.
  static Result<ObjectAsk> Read(const StageFrame& frame);

  // kAhead, of which these are parts. A zero byte ends each name.
  [[nodiscard]] std::vector<std::string> Names() const;
  struct Opened {
    std::int64_t key = 0;
    std::vector<std::string> names;
  };
  // Of `version`: decimal numbers, with commas between them. Stops at the first that is none.
  [[nodiscard]] std::vector<std::int64_t> Keys() const;
  // What a process has read of leaves in files since it told last: how many it found, their bytes, and for how
  // many bytes it waited for the disk, and how long. Of `version`, as Keys; zeros: it said nothing.
  struct FromFiles {
    std::uint64_t hits = 0, bytes = 0, awaited_bytes = 0, waited_ns = 0;
  };
  [[nodiscard]] FromFiles LeavesOfFiles() const;
  // Of `token`: a key, and the names; an empty name ends them. What is damaged is left out.
  [[nodiscard]] std::vector<Opened> WasOpened() const;
  // kDecode. Of `version`, three Keys: the sample that the lane makes now, how pictures are decoded
  // (PicturesAhead::As), and whether memory is wanted. kInvalidArgument: they are others.
  struct Decoding {
    std::int64_t at = 0;
    std::uint64_t as = 0;
    bool wants_memory = false;
  };
  [[nodiscard]] Result<Decoding> DecodingOf(std::uint64_t most_as) const;
};

// What the worker answers.
struct ObjectTold {
  Status status;
  std::uint64_t size = 0;  // of the object
  std::string version;
  Bytes few;                         // the bytes; or
  UniqueFd memory;                   // a memory file with them, which
  std::uint64_t count = 0;           // has so many, and
  std::shared_ptr<const void> hold;  // is released when the process has taken them
};

}  // namespace headrace::dataworker
