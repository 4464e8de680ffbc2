#include "dataworker/share/source_reads.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "dataworker/share/read_meter.h"

namespace headrace::dataworker {
namespace {

// Meters of jobs that are kept, with what they know.
constexpr std::size_t kMostMeters = 1024;

}  // namespace

// Keeps a row's place in the window, and its bytes.
class SourceReads::Place {
 public:
  Place(std::shared_ptr<SourceReads> reads, JobId job, std::uint64_t bytes,
        std::shared_ptr<const void> hold)
      : reads_(std::move(reads)), job_(job), bytes_(bytes), hold_(std::move(hold)) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  // The memory goes first: the next row may take as much.
  ~Place() {
    hold_.reset();
    reads_->End(job_, bytes_);
  }

 private:
  const std::shared_ptr<SourceReads> reads_;
  const JobId job_;
  const std::uint64_t bytes_;
  std::shared_ptr<const void> hold_;
};

// The open rows of one Source::Fetch. Keeps the source and the sink until the last of them is
// answered, and has both released elsewhere: the answer comes on a thread of the source, and what a
// sink refers to may own the source.
class SourceReads::Open {
 public:
  Open(std::shared_ptr<SourceReads> reads, Begun begun)
      : reads_(std::move(reads)), begun_(std::move(begun)), left_(begun_.rows.size()) {}

  [[nodiscard]] const Begun& begun() const { return begun_; }
  void Answer(std::size_t index, RowAnswer answer) {
    reads_->OnAnswer(begun_, index, std::move(answer));
    if (--left_ > 0) return;
    {
      const std::lock_guard lock(reads_->mutex_);
      reads_->Note(begun_.source, false);
    }
    reads_->parts_.let_go(std::move(begun_.sink));
    reads_->parts_.let_go(std::move(begun_.source));
  }

 private:
  const std::shared_ptr<SourceReads> reads_;
  Begun begun_;
  std::atomic<std::size_t> left_;
};

void SourceReads::Fetch(const Asker& asker, Ask ask, std::shared_ptr<Source> source,
                        const std::vector<std::int64_t>& rows, Source::Sink sink) {
  if (rows.empty()) return;
  Call call{asker, ask, std::move(source), std::make_shared<const Source::Sink>(std::move(sink)),
            rows};
  bool stopped = false;
  {
    const std::lock_guard lock(mutex_);
    stopped = stopped_;
    if (!stopped) {
      window_.SetWaiting(asker.job, true);
      Line& line = lines_[asker.job];
      (ask == Ask::kBytes ? line.large : line.small).push_back(std::move(call));
    }
  }
  if (stopped) {
    Answer({std::move(call)}, Cancelled("the worker ends"));
  } else {
    Pump();
  }
}

std::uint64_t SourceReads::Expected(const Call& call) const {
  switch (call.ask) {
    case Ask::kIdentity:
      return 0;
    case Ask::kSpec:
      return Source::kHeadBytes;
    case Ask::kWitness:
      return 2 * FileWitness::kEndBytes;
    case Ask::kBytes:
    case Ask::kWholeWitness:
      return window_.Expected(call.asker.job);
  }
  return 0;
}

std::shared_ptr<remote::Meter> SourceReads::MeterOf(JobId job) {
  if (meters_.size() >= kMostMeters && !meters_.contains(job)) meters_.clear();
  std::shared_ptr<remote::Meter>& meter = meters_[job];
  if (!meter) meter = std::make_shared<ReadMeter>(parts_.queue, parts_.clock, job);
  return meter;
}

std::optional<SourceReads::Begun> SourceReads::Take(JobId job, SteadyTime& wake) {
  const auto line = lines_.find(job);
  std::deque<Call>& calls = line->second.next();
  Call& call = calls.front();
  Begun begun{call.asker, call.ask, call.source, call.sink, call.next, {}, {}, {}, nullptr};
  if (call.source->is_metered()) begun.meter = MeterOf(job);
  while (call.next < call.rows.size()) {
    const std::uint64_t expected = Expected(call);
    if (!window_.MayBegin(job, expected)) break;
    // With a meter nothing is taken, and the job is named to the queue.
    const WorkQueue::Taken taken = parts_.queue.TakeAhead(job, begun.meter ? 0 : expected);
    if (taken.again && !begun.meter) {
      wake = std::min(wake, *taken.again);
      break;
    }
    window_.Begin(job, expected);
    begun.rows.push_back(call.rows[call.next++]);
    begun.expected.push_back(expected);
    begun.taken.push_back(taken.bytes);
    if (taken.bytes > 0) break;  // limited: the jobs in turn, row by row
  }
  if (begun.rows.empty()) return std::nullopt;
  Note(begun.source, true);
  last_ = job;
  if (call.next == call.rows.size()) calls.pop_front();
  if (line->second.empty()) {
    lines_.erase(line);
    window_.SetWaiting(job, false);
  }
  return begun;
}

void SourceReads::Note(const std::shared_ptr<Source>& source, bool begins) {
  if (begins) {
    ++open_[source];
    return;
  }
  const auto found = open_.find(source);
  if (--found->second == 0) open_.erase(found);
}

// A loop, not a recursion: a source may answer before Fetch returns, and that frees places.
void SourceReads::Pump() {
  std::unique_lock lock(mutex_);
  if (pumping_) {
    again_ = true;
    return;
  }
  pumping_ = true;
  while (!stopped_ && !lines_.empty()) {
    again_ = false;
    const SteadyTime now = parts_.clock.Now();
    SteadyTime wake = SteadyTime::max();
    std::vector<Begun> begin;
    for (bool any = true; any && !lines_.empty();) {
      any = false;
      std::vector<JobId> turn;  // those after the one that began last come first
      for (auto at = lines_.upper_bound(last_); at != lines_.end(); ++at) turn.push_back(at->first);
      for (auto at = lines_.begin(); turn.size() < lines_.size(); ++at) turn.push_back(at->first);
      for (const JobId job : turn) {
        std::optional<Begun> begun = Take(job, wake);
        if (!begun) continue;
        any = true;
        begin.push_back(std::move(*begun));
      }
    }
    Duration ask = Duration::max();
    if (wake < wake_at_) {
      wake_at_ = wake;
      ask = std::max(wake - now, Duration(0));
    }
    lock.unlock();
    if (ask != Duration::max()) parts_.wake_after(ask);
    for (Begun& begun : begin) Begin(std::move(begun));
    lock.lock();
    if (!again_) break;
  }
  pumping_ = false;
}

void SourceReads::Begin(Begun begun) {
  const auto open = std::make_shared<Open>(shared_from_this(), std::move(begun));
  const std::shared_ptr<Source> source = open->begun().source;
  Source::Sink sink = [open](std::size_t index, RowAnswer answer) {
    open->Answer(index, std::move(answer));
  };
  const std::shared_ptr<remote::Meter>& meter = open->begun().meter;
  if (meter) {
    source->FetchMetered(open->begun().ask, open->begun().rows, std::move(sink), meter);
  } else {
    source->Fetch(open->begun().ask, open->begun().rows, std::move(sink));
  }
  parts_.let_go(source);
}

void SourceReads::OnAnswer(const Begun& begun, std::size_t index, RowAnswer answer) {
  const JobId job = begun.asker.job;
  const bool sample = begun.ask == Ask::kBytes && answer.status.ok();
  const std::uint64_t bytes = sample ? answer.sample.bytes.size() : 0;
  bool stopped = false;
  {
    const std::lock_guard lock(mutex_);
    window_.Answer(job, begun.expected[index], bytes, sample);
    stopped = stopped_;
  }
  const double taken = begun.meter ? static_cast<double>(answer.bytes_read) : begun.taken[index];
  if (!stopped) parts_.queue.SettleAhead(job, taken, answer.bytes_read);
  auto place =
      std::make_shared<const Place>(shared_from_this(), job, bytes, std::move(answer.hold));
  answer.hold.reset();
  if (sample) {
    answer.hold = std::move(place);
  } else {
    place.reset();
  }
  (*begun.sink)(begun.first + index, std::move(answer));
}

void SourceReads::End(JobId job, std::uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    window_.End(job, bytes);
  }
  Pump();
}

void SourceReads::Answer(const std::vector<Call>& dropped, const Status& why) {
  for (const Call& call : dropped) {
    for (std::size_t i = call.next; i < call.rows.size(); ++i) {
      (*call.sink)(i, RowAnswer::Failed(why));
    }
    parts_.let_go(call.source);
  }
}

void SourceReads::Drop(SessionId session, std::optional<IterationId> before) {
  std::vector<Call> dropped;
  {
    const std::lock_guard lock(mutex_);
    const auto over = [&](const Call& call) {
      if (call.asker.session != session) return false;
      return !before || (call.asker.iteration.valid() && call.asker.iteration < *before);
    };
    for (auto at = lines_.begin(); at != lines_.end();) {
      for (std::deque<Call>* calls : {&at->second.small, &at->second.large}) {
        std::ranges::copy_if(*calls, std::back_inserter(dropped), over);
        std::erase_if(*calls, over);
      }
      const JobId job = at->first;
      const bool none = at->second.empty();
      at = none ? lines_.erase(at) : std::next(at);
      if (none) window_.SetWaiting(job, false);
    }
  }
  Answer(dropped, Cancelled("the iteration was cancelled"));
  Pump();
}

void SourceReads::Wake() {
  {
    const std::lock_guard lock(mutex_);
    wake_at_ = SteadyTime::max();
  }
  Pump();
}

void SourceReads::Stop() {
  std::vector<Call> dropped;
  std::vector<std::shared_ptr<Source>> sources;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (auto& [job, line] : lines_) {
      std::ranges::move(line.small, std::back_inserter(dropped));
      std::ranges::move(line.large, std::back_inserter(dropped));
      window_.SetWaiting(job, false);
    }
    lines_.clear();
    for (const auto& [source, calls] : open_) sources.push_back(source);
  }
  Answer(dropped, Cancelled("the worker ends"));
  for (const std::shared_ptr<Source>& source : sources) source->Stop();
}

std::uint64_t SourceReads::open_bytes() const {
  const std::lock_guard lock(mutex_);
  return window_.bytes();
}

std::size_t SourceReads::open_rows() const {
  const std::lock_guard lock(mutex_);
  return window_.rows();
}

std::size_t SourceReads::waiting_rows() const {
  const std::lock_guard lock(mutex_);
  std::size_t rows = 0;
  for (const auto& [job, line] : lines_) rows += line.rows();
  return rows;
}

std::size_t SourceReads::waiting_rows(JobId job) const {
  const std::lock_guard lock(mutex_);
  const auto line = lines_.find(job);
  return line == lines_.end() ? 0 : line->second.rows();
}

std::size_t SourceReads::Line::rows() const {
  std::size_t rows = 0;
  for (const Call& call : small) rows += call.rows.size() - call.next;
  for (const Call& call : large) rows += call.rows.size() - call.next;
  return rows;
}

}  // namespace headrace::dataworker
