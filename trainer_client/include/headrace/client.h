#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/export.h"
#include "base/graph.h"
#include "base/metric.h"
#include "base/result.h"

// This file is long because it is all that a C++ trainer includes.
// The trainer's side of Headrace, and the only public C++ header (with base/graph.h,
// base/metric.h, base/result.h).
//   Client   one a process: connection to a coordinator, or a private one with local workers.
//   Session  one a loader: sends numbered index batches, delivers finished ones in order.
//   Batch    memory that a worker wrote; a slot of the arena that is free again when it dies.
namespace headrace {

struct ClientOptions {
  // "tcp://host:port" or "ipc:///path". Empty: starts a private coordinator and local workers. They
  // end with this process, however it ends.
  std::string coordinator;
  // Directory with the key of a trainer or admin, made by `headrace keys`; used with a coordinator
  // that is reached by TCP. Empty: no keys.
  std::string keys;
  std::string binary;        // path of the headrace program, to start processes here
  std::int32_t workers = 1;  // local worker processes (embedded) or workers wanted (0: all)
  std::int32_t threads = 0;  // compute threads of all local workers together; 0: usable CPUs
  // Memory cache of all local workers together, and the most that the job takes of another worker's.
  // 0: local workers have none. Nothing: they have a quarter of the memory that can be had when they
  // start. In both cases the job has of others what the coordinator's policy grants.
  std::optional<std::uint64_t> cache_bytes;
  // With a coordinator: lends it a worker on this host, unless the host has one. The worker serves
  // this user's programs alone, and ends with this process.
  bool local_worker = true;
  std::string job_name;
  std::string tenant;         // the tenant whose weight and quota count; empty: the default one
  std::int32_t priority = 0;  // a higher one is served first
  std::string group;          // ranks of one program have the same; empty: alone
  std::int32_t rank = -1;     // in the group; -1: not known
  // What this host's network carries, bytes/s each way; 0: no limit is known.
  std::uint64_t link_bytes_per_second = 0;
  std::string rack;   // hosts of one rack have the same; empty: not known
  bool warm = false;  // workers fill the caches of its data sets while they are idle
  std::chrono::milliseconds connect_timeout{10'000};
};

// The form in which batches cross a network, where workers share no memory with the trainer.
enum class WireForm : std::uint8_t {
  kAuto,    // kUint8 where that costs less
  kAsMade,  // finished batches
  kUint8,   // the values before the conversion to wider elements, where the plan ends with one
};

// What a session does while no worker serves it.
enum class NoWorkers : std::uint8_t {
  kFail,   // Next reports it after ClientOptions::connect_timeout
  kWait,   // waits, and says so once a minute
  kLocal,  // after some seconds, the caller makes the samples of native plans (Batch::missing) until
           // workers come; other plans wait once a worker has served them, and fail before
};

struct SessionOptions {
  // Most batches that are submitted and not yet delivered (prefetch_factor * num_workers).
  std::int64_t max_outstanding = 4;
  bool in_order = true;
  // Bytes of the first slots; slots grow when a batch needs more.
  std::uint64_t slot_bytes_hint = 1 << 20;
  // Most bytes of the arena, with the batches that the program keeps. Next returns
  // kResourceExhausted when no batch fits.
  std::uint64_t max_arena_bytes = std::uint64_t{16} << 30;
  // Python plans: workers on this host make batches with the processes that SetLanes gives them.
  bool gives_lanes = false;
  // With gives_lanes and code in the plan, workers elsewhere make batches after they have shown
  // that theirs are the same (Suspicion). After that, one of this many batches is made on this
  // host, too; 0: none.
  std::uint64_t compare_every = 256;
  // The one worker that makes this session's batches, by the coordinator's number, whatever the job
  // has leased. It serves to look at one worker by itself. -1: the workers that the job has leased.
  std::int64_t only_worker = -1;
  // Native plans, RngMode::kTorch: batches say what was drawn for them (Batch::drawn).
  bool tell_draws = false;
  // Python plans: what pickles of workers elsewhere may use from the beginning, each as "c module
  // name" (v: holds it, c: calls it, n: makes an object of the class, b, a, s: gives one a state, items
  // or entries). They may also use what answers of this host have used, but not of closed modules
  // (top-level names). All else is refused, and its batch is made on this host
  // (docs/adr/0049-answers.md).
  std::vector<std::string> answer_names;
  std::vector<std::string> closed_modules;
  // The bits of a batch do not depend on it.
  WireForm wire = WireForm::kAuto;
  // Plans that every worker refuses fail in any case, unless the caller makes their samples.
  NoWorkers no_workers = NoWorkers::kFail;
  // Native plans: a worker that has not made a batch for this long, for each 64 samples begun, is too
  // late with it, unless batches take that long as a rule. Another one is asked, and then the trainer
  // makes it. 0: it is waited for.
  std::chrono::milliseconds sample_deadline = std::chrono::seconds(60);
};

// What the caller says of a sample that could not be made like the others.
struct BadSampleReport {
  std::int64_t key = 0;
  std::string name;        // for people: its file; empty: the one that the plan names
  std::string cause;       // for people
  bool hold_back = false;  // native plans: it ends workers, so none of them is given it any more
  bool left_out = false;   // the program goes on without it
};

// A worker that the coordinator knows.
struct WorkerSeen {
  std::int64_t id = 0;
  std::string hostname;
  std::string state;  // "ready", "draining", "lost"
};

// The largest data set that this job reads, as the coordinator's workers have it in their caches.
struct DataSeen {
  std::string name;   // empty: the coordinator knows none yet
  std::string phase;  // "filling", "steady", "not cached"
  std::int64_t rows = 0, entries = 0;
  std::uint64_t bytes = 0, quota_bytes = 0;  // cached; what may be
};

// A process of the caller that makes the batches of one lane (docs/adr/0025-lanes.md).
struct LaneProcess {
  int control = -1;  // a stream socket to it, which takes sockets to serve on; copied
  std::int64_t pid = 0;
};

// A tensor [B, ...] in a batch; dense row-major, writable, 64-byte aligned.
struct BatchField {
  DType dtype = DType::kU8;
  std::vector<std::int64_t> shape;
  std::span<std::byte> data;
  // A field of kind kList: the tensor of each sample, with sizes of 0 for a missing one. `shape` is
  // then {B}, and `data` is all of them.
  std::vector<BatchField> rows = {};
};

// A sample that no worker could make natively, to be made by the caller.
struct MissingSample {
  std::int32_t position = 0;  // in the batch
  std::int64_t key = 0;
  Code code = Code::kUnknown;
  Detail detail = Detail::kNone;
  std::string message;
  // RngMode::kTorch: bytes of torch.get_rng_state() just before this sample. In plans that draw from
  // Python's generator, too, its state follows (ops/core/python_generator.h).
  Bytes torch_state;
  // The same after this sample, from which the later samples were planned; empty: none were. If the
  // caller's own code draws to another state, it makes those samples too and calls ReplanLane.
  Bytes torch_state_after;
  std::uint64_t seed = 0;  // RngMode::kSample
};

// What was drawn for a batch, for a caller that makes a part of its samples itself.
struct DrawnBatch {
  // Of each sample one after the other, as ops::Graph::Draw fills them; 0: it was not drawn.
  std::vector<std::int32_t> words;
  // Height and width of each sample's picture; 0 where no worker knows them.
  std::vector<std::array<std::int64_t, 2>> sizes;
  Bytes torch_state;  // before the first sample, as MissingSample's
};

enum class Transport : std::uint8_t { kShm = 0, kTcp = 1 };

// The content of a BlobHash of the plan; not copied. `owner` keeps `data` valid.
struct Blob {
  ByteSpan data;
  std::shared_ptr<const void> owner;
};

// (module, name) of each class and function that a pickle may look up.
using NamesUsed = std::vector<std::pair<std::string, std::string>>;

// One delivered batch. Movable; its memory is valid until it and every copy of `hold` are gone.
// Thread-compatible; may outlive the Session and be destroyed on any thread.
struct Batch {
  std::int64_t batch = 0;
  std::vector<BatchField> fields;      // native plans
  std::vector<MissingSample> missing;  // rows of `fields` that the caller must fill
  // Of all its samples, if some are missing, or with SessionOptions::tell_draws.
  std::vector<std::int64_t> keys;
  std::optional<DrawnBatch> drawn;  // with SessionOptions::tell_draws
  std::shared_ptr<void> hold;
  // True when few slots are free: the caller should copy the data out and drop `hold`. Then a
  // program that keeps its tensors never holds up the loader.
  bool copy_advised = false;
  // Python plans: the collated batch as a pickle of protocol 5 with its out-of-band buffers, or the
  // pickled exception wrapper. `output` and `error_output` hold what user code printed.
  Bytes pickle;
  std::vector<std::span<std::byte>> buffers;
  Bytes python_error;
  // Of a worker elsewhere: its pickle has these names and no others, and all of them are allowed. It
  // must be read by these alone. Absent: a process of the caller has made it.
  std::optional<NamesUsed> names;
  // RngMode::kTorch: its lane's generators after it, for IterationOptions. Native plans set it only
  // if the iteration began with lane_states. Empty: no worker made the batch.
  Bytes lane_state;
  std::string output;
  std::string error_output;
  std::int64_t samples = 0;  // in the batch, missing ones included
  // Iterable data sets: this is no batch, and the lane's outstanding ones are none either.
  bool lane_ended = false;
  // Where it came from.
  std::int64_t worker = -1;
  Transport transport = Transport::kShm;
  std::uint64_t bytes = 0;
};

// The planner came to a sample whose size no worker can read (RngMode::kTorch). The caller makes
// the sample from `torch_state` and calls Session::ResolveSample. The sample is then `missing` in
// its batch.
struct SampleNeeded {
  std::int64_t batch = 0;
  std::int32_t position = 0;  // in the batch
  std::int64_t key = 0;
  Bytes torch_state;  // as MissingSample's
};

// A batch that a worker elsewhere made has other bytes than the one made on this host. The values
// may still be equal. The caller can tell, and calls Session::Judge. Until then the worker gets no
// more batches.
struct Suspicion {
  std::uint64_t id = 0;
  std::int64_t batch = 0;  // its number in the iteration that asked for it
  std::int64_t worker = -1;
  std::string host;
  Batch here, there;  // without what AddMissing knows; with `hold`
};

// What became of a worker that makes other batches. It gets no more batches. Those that it made and
// the caller has not taken are made again.
struct Withdrawal {
  std::uint64_t consumed = 0;         // its batches that were taken from the session before
  std::vector<std::int64_t> batches;  // those of this iteration
};

// The code of a Python plan was seen to keep something from batch to batch (docs/adr/0029). After
// that it runs in the lanes of this host alone. A session tells it twice: when it was seen, and,
// with `judged`, when the lanes have made the earlier batches again as stock lanes would have.
struct StateChange {
  bool judged = false;
  std::string what;          // what has changed, in the stage's words
  std::int64_t worker = -1;  // the worker whose process saw it
  std::string host;
  // With `judged`: taken batches that the lanes make otherwise, or can't make again.
  Withdrawal differing;
};

// What Next returns: exactly one member is set.
struct Event {
  std::optional<Batch> batch;
  std::optional<SampleNeeded> sample;
  std::optional<Suspicion> suspicion;
  std::optional<StateChange> change;
  bool doubt = false;  // IterationOptions::doubts has grown
};

struct IterationOptions {
  std::uint64_t base_seed = 0;
  // persistent_workers: lanes go on with the generators of the iteration before.
  bool continue_lanes = false;
  // Resume: the number of the first batch, and what LaneDraws returned for each lane.
  std::int64_t first_batch = 0;
  std::vector<std::uint64_t> lane_draws;
  // Native plans, RngMode::kTorch: the seeds that a worker_init_fn gives the lanes' generators; in
  // plans that draw from Python's, then its seeds, and then NumPy's. Empty: base_seed + lane, and
  // for NumPy kNumpySeedOfWorker.
  std::vector<std::uint64_t> lane_seeds;
  // NumPy is seeded as torch's DataLoader does it, from base_seed and lane.
  static constexpr std::uint64_t kNumpySeedOfWorker = ~std::uint64_t{0};
  // RngMode::kTorch. Python plans: what LaneStates returned; an empty entry: the lane has not
  // begun. Native plans: the state with which each lane begins, as MissingSample::torch_state, in
  // place of a seed.
  std::vector<Bytes> lane_states;
  // Python plans: a number, in memory that the lanes share, that grows when something turns out to be wrong that
  // batches may have been made from. Next tells each growth before it gives another batch. The lanes' processes
  // can then begin again (MakeAgain). It outlives the client. Null: there is none. Ignored with continue_lanes.
  const std::uint64_t* doubts = nullptr;
  // Python plans: most batches of a lane that are asked for at once, so that its process waits for
  // nobody between them. It keeps the last ones, because a worker may be lost with the answers. So they
  // are small: only a batch of kMostAheadBytes or less is asked for ahead, in a slot of no more. 1
  // where states travel with the batches: lane_states are given, or code may run elsewhere.
  std::int32_t lane_window = 1;
  static constexpr std::uint64_t kMostAheadBytes = std::uint64_t{1} << 20;
};

// Samples that came from one cache tier of workers.
struct TierHits {
  std::uint64_t decoded = 0, encoded = 0;
  std::uint64_t cpu_ns = 0;  // CPU time of workers, for the decoded ones
};

// Numbers since the session was opened: docs/reference/metrics.md says what each is. The causes of
// a wait (wait_*_ns) add up to stall_ns: docs/reference/stall.md.
struct SessionStats {
  HEADRACE_SESSION_METRICS(HEADRACE_METRIC_MEMBER);
  HEADRACE_BATCH_METRICS(HEADRACE_METRIC_TOTAL);
  bool idle_known = false;  // AddIdle was called
  // `samples` when the program has taken all that it will, by Session::Expect; -1: not known.
  std::int64_t expected_samples = -1;
  std::map<std::int64_t, std::uint64_t> samples_by_worker;
  std::map<std::string, TierHits> hits_by_tier;  // by the tier's name
  template <typename Visit>
  static void EachMetric(Visit&& visit) {
    using Self = SessionStats;
    HEADRACE_SESSION_METRICS(HEADRACE_METRIC_VISIT);
    HEADRACE_BATCH_METRICS(HEADRACE_METRIC_VISIT_OF_BATCH);
  }
};

class TrainerSession;
// Thread rule: one thread at a time (the trainer's) calls it. Any thread or signal handler's
// follow-up may call Interrupt. In the child after fork(), and after the client is closed, nothing
// hangs: every call that can fail returns kUnavailable.
// Methods: one for each thing that a trainer asks of its loader.
class HEADRACE_PUBLIC Session {
 public:
  explicit Session(std::unique_ptr<TrainerSession> impl);
  ~Session();  // cancels what is outstanding; frees leases and memory at once
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // Starts an iteration (an epoch) and cancels the rest of the one before. Slots of that rest get
  // free when no worker can write to them any more. kInvalidArgument: first_batch is negative;
  // lane_draws, lane_seeds or a native plan's lane_states is not one entry a lane; an entry is no
  // state.
  Status Begin(const IterationOptions& options);
  // Ends the iteration and cancels the rest of it, as the next Begin would.
  void End();
  // Sets the processes of the lanes, in the order of the lanes. They serve from the next Begin on;
  // those before are not asked any more. A session that gives lanes calls it before its first
  // Begin. kInvalidArgument: not one a lane, a descriptor that can't be copied, or a session that
  // gives none.
  Status SetLanes(std::span<const LaneProcess> lanes);
  // Counts the keys of the batches before first_batch, to resume in RngMode::kSample. A key that
  // comes again then has its right occurrence. The keys may come in any pieces. Does nothing in
  // other modes.
  Status Skip(std::span<const std::int64_t> keys);
  // Submits the next index batch and returns its number. Does not wait. `lane`: the lane that makes
  // it; -1: batches take turns. `index`: the pickled keys, in Python plans whose keys are no
  // integers; `keys` is then as long. kInvalidArgument: no iteration was begun, no keys, no such
  // lane, a chosen lane or an index in a native plan, or outstanding() == max_outstanding.
  Result<std::int64_t> Submit(std::span<const std::int64_t> keys, std::int32_t lane = -1,
                              ByteSpan index = {});
  // Waits up to `timeout` for the next batch in order (any batch, with in_order = false). It also
  // returns a sample that the caller must make first, a suspicion that it must judge, or a change
  // of state. kDeadlineExceeded: nothing yet, call again. kUnavailable: no worker serves, and the
  // session does not go on without one (NoWorkers). kResourceExhausted: no memory for a batch. (Messages say what to do; the call may
  // be repeated.) kCancelled: Interrupt was called.
  Result<Event> Next(std::chrono::milliseconds timeout);
  // Mark a wait for data, for callers that do more for a batch than to call Next. All from
  // EnterNext to LeaveNext is a wait for data. The time from EnterSampler to LeaveSampler is a wait
  // for their sampler. Without these calls only the time in Next is a wait.
  void EnterNext();
  void LeaveNext();
  void EnterSampler();
  void LeaveSampler();
  // Adds time of the waits so far in which the caller's device had nothing to do.
  void AddIdle(std::chrono::nanoseconds idle);
  // Says how many samples the program will still take of this loader, later iterations included; -1:
  // not known. The coordinator orders jobs by it.
  void Expect(std::int64_t samples);
  // Says what became of a sample, to people and to the coordinator. With `hold_back` every job that
  // reads the data set makes it without workers.
  Status ReportBadSample(const BadSampleReport& report);
  // Counts a delivered batch whose samples the caller compared with what its own code makes. It
  // counts as `compared`, and as `differed` if they are not equal.
  void AddComparison(bool equal);
  // Judges whether the two batches of a suspicion have equal values. If they have not, returns what
  // becomes of the worker. kInvalidArgument: no such suspicion, or it was judged before.
  Result<Withdrawal> Judge(std::uint64_t suspicion, bool equal);
  // Python plans: lets workers elsewhere use what this pickle of the caller uses, as if an answer of
  // this host had.
  void LearnNames(ByteSpan pickle);
  // The number of taken batches that are being compared, or made again for the state of their
  // lanes. Next will return the outcome. 0 if the client is closed.
  std::int64_t Undecided();
  // After a doubt (IterationOptions::doubts): has these lanes begin again, as before their first batch, and make
  // all their batches again. Next gives those that it has not given yet as they are made then. Returns how many
  // of these had been made. kUnsupported: the lanes can't, or have made more than is remembered; nothing changes.
  Result<std::int64_t> MakeAgain(std::span<const std::int32_t> lanes);
  // Waits until a worker has said that the plan runs there. kDeadlineExceeded: none yet, call
  // again. kUnsupported: every worker has said that the plan does not run there (message: which,
  // why, what to do). kUnavailable, kCancelled: as Next.
  Status AwaitServed(std::chrono::milliseconds timeout);
  // Answers a SampleNeeded. `state_after`: as MissingSample::torch_state, after the sample.
  // `failed`: the sample raised, so the stock loader would have made nothing after it in this
  // batch. The lane goes on from `state_after`. kInvalidArgument: not the sample that was asked
  // for, or no such state.
  Status ResolveSample(std::int64_t batch, std::int32_t position, ByteSpan state_after,
                       bool failed);
  // Replans the lane after `batch` from `state_after`, because a missing sample raised while it was
  // made. Does nothing without RngMode::kTorch. kInvalidArgument: no such state.
  Status ReplanLane(std::int64_t batch, ByteSpan state_after);
  // The place of each lane's generator after the last *delivered* batch, in generator outputs
  // (TorchGenerator::position), for state_dict(); in plans that draw from Python's, then the same of
  // these. Empty without RngMode::kTorch. kUnsupported:
  // Python plans, and when a lane's state did not come from draws alone (after ResolveSample).
  [[nodiscard]] Result<std::vector<std::uint64_t>> LaneDraws() const;
  // The generators of each lane where the iteration began, for Python plans with RngMode::kTorch.
  // `end`: after all that was submitted instead, for state_dict() of persistent workers. Waits at
  // most 30 s for what an earlier iteration has left. kUnavailable: no worker made that in time.
  // kUnsupported: other plans.
  [[nodiscard]] Result<std::vector<Bytes>> LaneStates(bool end) const;

  // The number of batches of this iteration that were submitted and not delivered.
  [[nodiscard]] std::int64_t outstanding() const;
  // All zero in a forked child.
  [[nodiscard]] SessionStats Stats() const;
  // What the coordinator decided, for `explain`. CacheNode: how many nodes lie before the cache point
  // (0: only encoded bytes are cached). TailNode: from which node on the trainer may finish batches
  // that cross a network (0: it may not).
  [[nodiscard]] std::int32_t CacheNode() const;
  [[nodiscard]] std::int32_t TailNode() const;
  // Makes the call that waits now return kCancelled, once. If none waits, the next one that would
  // wait does.
  void Interrupt();
  // Keeps the memory of the batches that the program holds now, while a process that inherits it
  // lives. The caller calls it just before fork(). Returns a descriptor to close in the parent
  // after fork() and to leave open in the child; -1: no batch is held.
  [[nodiscard]] int BeforeFork();

 private:
  std::unique_ptr<TrainerSession> impl_;
};

class ClientImpl;
// Thread-safe. In a forked child it does nothing, and OpenSession returns kUnavailable.
class HEADRACE_PUBLIC Client {
 public:
  // Opens a client. Waits up to connect_timeout. kUnavailable: no coordinator there (message names
  // the address and the remedy). kResourceExhausted: the coordinator has as many jobs as it may; it
  // may have room later. kNotFound: no program at `binary`.
  static Result<std::shared_ptr<Client>> Open(const ClientOptions& options);
  ~Client();

  // Opens a session. `blobs`: the content of every BlobHash in the plan; the session keeps it
  // alive. `torch_exp` goes into plan.constants like any blob. kUnsupported: the plan has no native
  // form (message says which node). kInvalidArgument: an inconsistent plan or blob. kUnavailable:
  // no answer within connect_timeout, or closed. kNotFound: no such worker. kResourceExhausted: no
  // address space for the arena.
  Result<std::unique_ptr<Session>> OpenSession(Plan plan, std::map<BlobHash, Blob> blobs,
                                               const SessionOptions& options);
  // The workers that the coordinator knows. kUnavailable: it does not answer.
  Result<std::vector<WorkerSeen>> Workers();
  // The cached data of this job. kUnavailable: as Workers.
  Result<DataSeen> Data();
  // CPU seconds of this job's private coordinator and workers, with those that ended (embedded
  // only).
  [[nodiscard]] double ServiceCpuSeconds() const;
  // The coordinator's address, private or not.
  [[nodiscard]] std::string coordinator_endpoint() const;
  // Ends the client's sessions. The last user also ends the private coordinator and workers.
  // Delivered batches stay valid. Idempotent; the destructor does it too.
  void Close();

 private:
  explicit Client(std::unique_ptr<ClientImpl> impl);
  std::unique_ptr<ClientImpl> impl_;
};

}  // namespace headrace
