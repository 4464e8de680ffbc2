#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "dataworker/exec/idle_thread.h"
#include "dataworker/exec/io_executor.h"
#include "dataworker/memory/worker_memory.h"
#include "dataworker/share/ahead_line.h"
#include "dataworker/share/idle_cores.h"
#include "dataworker/share/picture_ring.h"

namespace headrace::dataworker {

// Decodes pictures that lanes of Python stages are about to open, on cores that idle (IdleCores). A lane says
// which, and at which sample it is (AheadLine). It finds them in memory that both share (PictureRing), named by
// the state of their file, and copies what it opens. What the lane has passed makes room for more. Nobody waits
// for these pictures: what is not there the lane decodes by itself.
//
// They are decoded on threads of the lowest priority that the kernel has (IdleThread), which take nothing from others
// that begin to run between two looks. Such a thread may be stopped for long, so it takes no lock: a thread of the
// usual priority waits for it, and does what needs one. docs/adr/0104-decoded-ahead.md. Thread-safe; shared, because
// tasks refer to it.
class PicturesAhead : public std::enable_shared_from_this<PicturesAhead> {
 public:
  // How a whole picture is decoded. Values as in headrace/stage/ahead_decoding.py.
  enum class As : std::uint8_t { kPil = 1, kRgb, kBgr, kGray };
  static constexpr std::uint64_t kMostAs = 4;
  // Of encoded files, and of pixels: one of a thread's pictures is small beside what it has anyway.
  static constexpr std::uint64_t kMostFileBytes = std::uint64_t{32} << 20;
  static constexpr std::uint64_t kMostPixelBytes = WorkerMemory::kSmallPicture;
  // Each has a ring. Of all sessions.
  static constexpr std::size_t kMostLanes = 8;
  // Who asks for nothing so long gives its ring and its place to others.
  static constexpr Duration kKeeps = std::chrono::seconds(30);

  // The state of a file, as lanes name it: device, inode, size, and both times in nanoseconds.
  using FileState = std::array<std::uint64_t, 5>;
  // Where a decoder's pixels go. None: there is no room now.
  using Room = std::function<std::optional<MutableByteSpan>(std::size_t bytes)>;
  struct Decoded {
    enum class What : std::uint8_t { kNone, kNoRoom, kDone } what = What::kNone;
    FileState file = {};
    std::uint64_t width = 0, height = 0;
    std::uint64_t cpu_ns = 0;
  };
  // Runs at idle priority: it must take no lock for which others wait.
  using Decoder = std::function<Decoded(const std::string& path, As as, const Room& room)>;
  // Of a picture that is there: number of the sample, FileState, offset, bytes, width, height, nanoseconds, As.
  using Row = std::array<std::uint64_t, 12>;

  struct Parts {
    int threads = 0;  // 0: nothing is decoded ahead
    std::shared_ptr<WorkerMemory> memory;
    Decoder decoder;
    std::function<SteadyTime()> now;
    std::function<std::optional<ProcessorUse>()> use = [] { return ReadProcessorUse(); };
  };
  explicit PicturesAhead(Parts parts)
      : parts_(std::move(parts)), threads_(parts_.threads > 0 ? parts_.threads : 1, "hr-ahead-") {}
  ~PicturesAhead() { Stop(); }
  PicturesAhead(const PicturesAhead&) = delete;
  PicturesAhead& operator=(const PicturesAhead&) = delete;

  struct Question {
    std::uint64_t lane = 0;
    std::int64_t at = 0;  // the sample that the lane makes now
    As as = As::kPil;
    bool wants_memory = false;
    std::vector<AheadLine::Wanted> wanted;
  };
  struct Told {
    int cores = 0;          // that idle now
    std::vector<Row> rows;  // of pictures that have come since the last question
    // If it was asked for, or is not what the lane was given: rows from now on lie in it. PictureRing::kBytes.
    UniqueFd memory;
  };
  // Who wants memory, or another As than before, has forgotten the rows that it was told.
  // kUnsupported: nothing is decoded ahead here. kResourceExhausted: for no more lanes now.
  Result<Told> Ask(SessionId session, Question question);
  // Drops what is there and what waits of a session that has ended.
  void Forget(SessionId session);
  // Takes back what lanes have that did not ask for kKeeps. To be called now and then.
  void GiveBack();
  // Waits for pictures that are being decoded, and drops all. Idempotent.
  void Stop();

 private:
  using Lane = std::pair<SessionId, std::uint64_t>;
  struct Line {
    AheadLine next;
    As as = As::kPil;
    SteadyTime asked;  // the last time
    // Never another lane's or process's: each asks for memory first, and gets a new one.
    std::shared_ptr<PictureRing> ring;
    bool is_given = false;                  // the ring, to the lane
    bool is_full = false;                   // until the lane has passed some
    std::multimap<std::int64_t, Row> rows;  // that are there
    int making = 0;                         // pictures
    std::vector<Row> news;                  // that the lane has not heard of
  };
  struct Work {
    Lane lane;
    As as = As::kPil;
    AheadLine::Wanted wanted;
    std::shared_ptr<PictureRing> ring;
  };
  void Run();
  // Takes the next picture; none: there is none, or no core idles, and one task less.
  std::optional<Work> Take();
  void Decode(IdleThread& idle, Work work);
  void Look(SteadyTime now);
  std::unique_ptr<IdleThread> TakeIdleThread();
  // With the mutex.
  int Begin();
  Result<Told> AskOf(Line& line, Question& question, SteadyTime now);
  // For one more lane, where there are too many: whose line has no ring goes.
  void MakeRoom(SteadyTime now);
  void DropSilent(SteadyTime now);
  static void Pass(Line& line, std::int64_t at);
  // What comes is decoded in another way, so nothing that was made or wanted counts.
  static void Change(Line& line, As as);

  const Parts parts_;
  std::mutex mutex_;
  // Guarded by mutex_:
  std::map<Lane, Line> lines_;
  Lane last_;  // whose picture was taken
  IdleCores idle_;
  double own_seconds_ = 0;
  int running_ = 0;  // tasks that were submitted
  bool stopped_ = false;
  std::vector<std::unique_ptr<IdleThread>> idle_threads_;  // that have no work
  IoExecutor threads_;                                     // the last: its threads use the others
};

}  // namespace headrace::dataworker
