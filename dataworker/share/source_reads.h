#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "dataworker/share/read_window.h"
#include "dataworker/share/work_queue.h"
#include "dataworker/source/core/source.h"
#include "remote/meter.h"

namespace headrace::dataworker {

// The one way to Source::Fetch. Rows wait here until the window (ReadWindow) and the source limits
// of their job (WorkQueue) let them begin. The jobs take turns. In a job it is first come first
// served, but what is small (all but bytes) goes before bytes: more work depends on it. A waiting
// row is a few words. Rows of metered sources begin whatever the limits say: each byte that comes of
// them is paid for then (ReadMeter). Rows that were asked together and may begin together stay together.
// Thread-safe; no thread waits here. Shared, because answers refer to it.
class SourceReads : public std::enable_shared_from_this<SourceReads> {
 public:
  struct Parts {
    WorkQueue& queue;  // outlives Stop
    Clock& clock;
    // Asks for a call of Wake after this time; any thread. After a second call the earlier time
    // counts.
    std::function<void(Duration)> wake_after;
    // Releases this elsewhere, on no thread of a source.
    std::function<void(std::shared_ptr<const void>)> let_go;
    ReadWindow::Limits limits = {};
  };
  // Who asks.
  struct Asker {
    JobId job;
    SessionId session;
    IterationId iteration;  // invalid: only the session's end drops it
  };

  explicit SourceReads(Parts parts) : parts_(std::move(parts)), window_(parts_.limits) {}

  // Asks for all of `rows`. Calls `sink` exactly once for each, on any thread, perhaps before it
  // returns; kCancelled: the row was dropped before it began. `hold` of an answer with bytes also
  // keeps the row's place in the window: whoever has it must not wait for another row.
  void Fetch(const Asker& asker, Ask ask, std::shared_ptr<Source> source,
             const std::vector<std::int64_t>& rows, Source::Sink sink);
  // Whether a unit of the job may read at once, on its own thread (Source::Now). Otherwise it fetches.
  [[nodiscard]] bool MayReadNow(JobId job) const {
    return parts_.queue.MayRead(job, WorkQueue::Reader::kUnit);
  }
  // Answers the session's rows that have not begun: all of them, or those of iterations before
  // `before`. Those that have begun are answered by their sources.
  void Drop(SessionId session, std::optional<IterationId> before = std::nullopt);
  // Begins what was held back and may begin now.
  void Wake();
  // Stops all sources with open rows, and answers everything, also what comes later. Idempotent.
  void Stop();

  [[nodiscard]] std::uint64_t open_bytes() const;
  [[nodiscard]] std::size_t open_rows() const;
  // Rows that have not begun: of all jobs, of one.
  [[nodiscard]] std::size_t waiting_rows() const;
  [[nodiscard]] std::size_t waiting_rows(JobId job) const;

 private:
  // Rows that were asked together.
  struct Call {
    Asker asker;
    Ask ask = Ask::kBytes;
    std::shared_ptr<Source> source;
    std::shared_ptr<const Source::Sink> sink;
    std::vector<std::int64_t> rows;
    std::size_t next = 0;  // that has not begun
  };
  // Rows of a call that begin together.
  struct Begun {
    Asker asker;
    Ask ask = Ask::kBytes;
    std::shared_ptr<Source> source;
    std::shared_ptr<const Source::Sink> sink;
    std::size_t first = 0;
    std::vector<std::int64_t> rows;
    std::vector<std::uint64_t> expected;
    std::vector<double> taken;             // from the source limits
    std::shared_ptr<remote::Meter> meter;  // pays instead; empty: the source is not metered
  };
  // What waits of a job.
  struct Line {
    std::deque<Call> small, large;
    [[nodiscard]] std::deque<Call>& next() { return small.empty() ? large : small; }
    [[nodiscard]] bool empty() const { return small.empty() && large.empty(); }
    [[nodiscard]] std::size_t rows() const;
  };
  class Open;
  class Place;

  void Pump();
  void Begin(Begun begun);
  void OnAnswer(const Begun& begun, std::size_t index, RowAnswer answer);
  void End(JobId job, std::uint64_t bytes);
  void Answer(const std::vector<Call>& dropped, const Status& why);
  // Guarded by mutex_ from here on.
  [[nodiscard]] std::uint64_t Expected(const Call& call) const;
  // Who pays for what sockets receive for the job.
  [[nodiscard]] std::shared_ptr<remote::Meter> MeterOf(JobId job);
  // Takes the rows of a job's first call that may begin; sets `wake` if a limit holds it back.
  std::optional<Begun> Take(JobId job, SteadyTime& wake);
  void Note(const std::shared_ptr<Source>& source, bool begins);

  const Parts parts_;
  mutable std::mutex mutex_;
  ReadWindow window_;
  std::map<JobId, Line> lines_;                             // none is empty
  JobId last_;                                              // that began
  std::map<std::shared_ptr<Source>, int> open_;             // how many Begun of each are not over
  std::map<JobId, std::shared_ptr<remote::Meter>> meters_;  // when there are too many, all go
  bool pumping_ = false, again_ = false;
  bool stopped_ = false;
  SteadyTime wake_at_ = SteadyTime::max();  // the one asked for
};

}  // namespace headrace::dataworker
