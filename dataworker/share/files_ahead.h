#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "dataworker/exec/io_executor.h"

namespace headrace::dataworker {

// Reads files that lanes of Python stages are about to read, so that they lie in the kernel's page cache by then.
// A lane says which, by paths that it has predicted (headrace/stage/ahead.py). Nobody waits for these reads, and
// nothing is made of what they give: a wrong path costs a useless read. They run on the io threads, on half of
// them at most, sessions in turn. A session's oldest paths go when it has more than it may have.
//
// Where a lane finds no rule for its paths, it says what the samples of its keys have opened. That is remembered
// for the session's later epochs, and the lane then asks by keys.
//
// It counts which files had to be waited for. Where none had, the lane stops to ask
// (docs/adr/0097-ahead-of-the-code.md). Thread-safe; shared, because reads refer to it.
class FilesAhead : public std::enable_shared_from_this<FilesAhead> {
 public:
  // Paths of one session that wait.
  static constexpr std::size_t kMostWaiting = 512;
  // Larger files are read in parts, or through a map: whoever opens one may want little of it.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{32} << 20;

  // Of the names that a session's keys have opened.
  static constexpr std::size_t kMostRememberedBytes = std::size_t{64} << 20;

  // What became of a file. kNone: it can't be opened, is no regular one, or too large.
  enum class Found : std::uint8_t { kNone, kInMemory, kWaitedFor };
  using Reader = std::function<Found(const std::string& path)>;
  struct Counts {
    std::uint64_t looked_at = 0;   // files that could be read
    std::uint64_t waited_for = 0;  // those that were not in memory
  };

  // `io` outlives the last read: whoever owns this calls Stop before `io` stops. REQUIRES: io_threads >= 1.
  FilesAhead(IoExecutor& io, int io_threads, Reader reader)
      : io_(io), most_reading_(io_threads > 1 ? io_threads / 2 : 1), reader_(std::move(reader)) {}

  void Read(SessionId session, std::vector<std::string> paths);
  // Notes which files the sample of a key has opened. Beyond kMostRememberedBytes nothing more is noted.
  void Remember(SessionId session, std::int64_t key, std::vector<std::string> paths);
  // Reads what is remembered of these keys.
  void ReadOf(SessionId session, const std::vector<std::int64_t>& keys);
  // Of the session's files since the last call.
  [[nodiscard]] Counts TakeCounts(SessionId session);
  // Drops what waits of a session that has ended.
  void Forget(SessionId session);
  // Drops everything, also what comes later. Reads that run go on. Idempotent.
  void Stop();

  // Reads as `Reader` says. `allowed_roots`: real paths that files are read below; none: anywhere.
  static Reader FromDisk(std::vector<std::string> allowed_roots);

 private:
  struct Line {
    std::deque<std::string> waiting;
    std::unordered_map<std::int64_t, std::vector<std::string>> remembered;  // by key
    std::size_t remembered_bytes = 0;
    Counts counts;
  };
  void Run();
  // Takes the next path; false: there is none, and one reader less.
  bool Take(SessionId& session, std::string& path);

  IoExecutor& io_;
  const int most_reading_;
  const Reader reader_;
  std::mutex mutex_;
  // Guarded by mutex_:
  std::map<SessionId, Line> lines_;
  SessionId last_;  // whose path was taken
  std::size_t waiting_ = 0;
  int reading_ = 0;  // tasks that were submitted
  bool stopped_ = false;
};

}  // namespace headrace::dataworker
