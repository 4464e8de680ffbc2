#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/file_witness.h"
#include "base/graph.h"
#include "base/ids.h"
#include "base/metric.h"
#include "base/result.h"
#include "base/tensor_spec.h"
#include "schemas/wire/control.h"

// Data-plane messages between a trainer and a worker (FlatBuffers form: schemas/fbs/data.fbs.in).
namespace headrace::wire {

struct Attach {
  std::uint64_t request = 0;
  SessionId session;
  JobId job;
  HostIdentity host;
  bool use_arena = false;  // the arena of this session came through the arena socket
  Plan plan;
  Split split;
  std::uint64_t cache_bytes = 0;
  // Python plans: the trainer's processes run the code. They come through the arena socket
  // (DescriptorMessage::Kind::kLane). The worker loads no code.
  bool lanes_given = false;
  std::string pass;  // of WorkerInfo: the job's for this worker
  friend bool operator==(const Attach&, const Attach&) = default;
};
// May come again without a request, for the same Attach, when its needs have arrived. It then says
// that the plan is loaded (Python stages), or cannot be.
struct Attached {
  std::uint64_t request = 0;
  SessionId session;
  Status status;
  bool use_arena = false;              // the worker has mapped the arena and will write there
  std::vector<BlobHash> needed_blobs;  // send these; batch requests wait until they are there
  friend bool operator==(const Attached&, const Attached&) = default;
};
// A part of a blob. Payload frame 0 holds the bytes.
struct BlobPart {
  SessionId session;
  BlobHash hash;
  std::uint64_t total_bytes = 0;
  std::uint64_t offset = 0;
  friend bool operator==(const BlobPart&, const BlobPart&) = default;
};
struct Detach {
  SessionId session;
  friend bool operator==(const Detach&, const Detach&) = default;
};

// Image sizes for the planner.
struct Describe {
  std::uint64_t request = 0;
  SessionId session;
  std::vector<std::int64_t> keys;
  friend bool operator==(const Describe&, const Describe&) = default;
};
struct Described {
  std::uint64_t request = 0;
  SessionId session;
  Status status;  // status of the whole request (unknown session ...)
  // One a key: what its source says of itself. Absent: this sample has no native form.
  std::vector<std::optional<TensorSpec>> specs;
  friend bool operator==(const Described&, const Described&) = default;
};

struct BatchRequest {
  SessionId session;
  IterationId iteration;
  BatchId batch;
  std::uint32_t attempt = 0;  // echoed: tells a hedge from the first try
  std::vector<std::int64_t> keys;
  std::vector<std::int32_t> params;  // RngMode::kTorch: keys.size() * Chain::param_words() words
  std::vector<std::uint64_t> seeds;  // RngMode::kSample: one a key (Chain::SampleSeed)
  std::vector<std::int32_t> skip;    // positions that the trainer makes itself; left untouched
  SlotId slot;
  std::uint64_t slot_offset = 0;  // in the arena, bytes
  std::uint64_t slot_bytes = 0;   // most bytes that the batch may take
  // Python plans only:
  LaneId lane;
  std::uint64_t base_seed = 0;  // seed of the iteration
  // The state from the lane's last answer, which only stage hosts read; empty: seed a new lane.
  Bytes lane_state;
  // The batch's keys as the program's sampler gave them, pickled, if they are not integers. Only
  // stage hosts read it. `keys` then has the same length, for the count.
  Bytes index;
  // The set of lanes' processes that makes the batch. Each time that lanes begin, a new set does, as
  // the stock loader's workers are new ones. If the trainer gives the processes, the worker has the
  // set, or it is on its way.
  std::uint64_t lane_set = 0;
  // The spec of each key's source for which `params` were drawn; absent if none were drawn. A sample
  // whose source has another spec is refused. Empty: specs are not checked.
  std::vector<std::optional<TensorSpec>> specs;
  // Positions whose files the worker is to witness, and those of them that it reads whole.
  std::vector<std::int32_t> witness;
  std::vector<std::int32_t> witness_whole;
  // The worker may leave the chain's nodes from this one on to the trainer, if its answer carries
  // the batch; 0: it may not.
  std::int32_t tail_node = 0;
  // The batch of the same lane and iteration that is out before this one: a lane that was not asked for it
  // refuses this one, so that its code runs in order whatever is lost on the way. -1: there is none.
  std::int64_t lane_after = -1;
  friend bool operator==(const BatchRequest&, const BatchRequest&) = default;
};

// A tensor [B, ...] in the batch, dense row-major; or a list of B such tensors (field_layout.h).
struct FieldLayout {
  DType dtype = DType::kU8;
  std::vector<std::int64_t> shape;  // of a list: B, then Dims::kAny for each dimension of a row
  std::uint64_t offset = 0;         // from the slot's start, bytes; 64-aligned
  // Of a list: the sizes of row 0, of row 1 ...; those of a row that was not made are 0.
  std::vector<std::int64_t> row_sizes = {};
  friend bool operator==(const FieldLayout&, const FieldLayout&) = default;
};
struct SampleFailure {
  std::int32_t position = 0;  // in the batch
  Code code = Code::kUnknown;
  std::string message;
  Detail detail = Detail::kNone;
  friend bool operator==(const SampleFailure&, const SampleFailure&) = default;
};
// What a worker sees in the file of a sample.
struct Witness {
  std::int32_t position = 0;  // in the batch
  FileWitness file;
  friend bool operator==(const Witness&, const Witness&) = default;
};
// What a worker measured while it made a batch.
struct BatchCost {
  HEADRACE_BATCH_METRICS(HEADRACE_METRIC_MEMBER);
  template <typename Visit>
  static void EachMetric(Visit&& visit) {
    using Self = BatchCost;
    HEADRACE_BATCH_METRICS(HEADRACE_METRIC_VISIT_OF_BATCH);
  }
  friend bool operator==(const BatchCost&, const BatchCost&) = default;
};
// Payload frames (only without an arena): the slot's bytes [0, used_bytes), cut into frames.
struct BatchDone {
  SessionId session;
  IterationId iteration;
  BatchId batch;
  std::uint32_t attempt = 0;
  // kSlotTooSmall, or of an older worker kResourceExhausted with needed_bytes: ask again with a slot
  // of that size.
  // kNotFound: the worker does not know the session: attach again.
  Status status;
  std::uint64_t needed_bytes = 0;
  std::uint64_t used_bytes = 0;
  std::vector<FieldLayout> fields;
  std::vector<SampleFailure> failures;  // these rows are undefined
  BatchCost cost;
  // Python plans: `pickle` is a pickle (protocol 5) of the collated batch. Its out-of-band buffers
  // lie in the slot, in pickle order. Or `python_error` is the pickled exception wrapper.
  Bytes pickle;
  std::vector<std::uint64_t> buffer_offsets;
  std::vector<std::uint64_t> buffer_sizes;
  Bytes python_error;
  Bytes lane_state;
  std::string output;         // what user code printed, to be shown once by the trainer
  std::string error_output;   // the same, to standard error
  std::int32_t samples = -1;  // samples in the batch; -1: one a key
  // Iterable data sets: there is no batch, and none for later requests to the lane in this
  // iteration.
  bool lane_ended = false;
  std::vector<Witness> witnesses;  // those that were asked for and could be read
  // Python plans: what the code changed that outlives the batch; empty: nothing seen.
  std::string state_change;
  std::vector<TierHits> tiers;  // the hits of `cost` by tier; only tiers that had some
  // The request's, if the worker left nodes out. Fields of the chain are then its uint8 values in CHW
  // before this node, which is what used_bytes, fields and payload tell of. 0: all is made.
  std::int32_t tail_node = 0;
  friend bool operator==(const BatchDone&, const BatchDone&) = default;
};

// Queued requests of iterations older than this one are not made: they are answered at once with
// kCancelled. Every request gets exactly one answer while its connection lives. So the trainer
// knows when the worker is done with a slot.
struct CancelIterations {
  SessionId session;
  IterationId before;
  friend bool operator==(const CancelIterations&, const CancelIterations&) = default;
};

// What names an entry of a cache: two words of its place, three of its version, and two of its form.
using EntryWords = std::array<std::uint64_t, 7>;
// The most keys of a PeerFind; more is refused.
inline constexpr std::size_t kMaxPeerKeys = 64;

// Asks the worker that keeps these entries for them. The pass is that of CachePeer.
struct PeerFind {
  std::uint64_t request = 0;
  WorkerId worker;  // who asks
  JobId job;
  std::string pass;
  std::vector<EntryWords> keys;
  bool wait = false;  // for entries that others make now, half a second at most
  // The entries go to their owner: the receiver, which was that before, drops what it has of them. It
  // gives no right to make them.
  bool take = false;
  // The asker has copies of the entries, whose owner before the receiver has gone. The answer is kMake where
  // the receiver wants one, else kNothing.
  bool offer = false;
  friend bool operator==(const PeerFind&, const PeerFind&) = default;
};
enum class PeerAnswer : std::uint8_t {
  kNothing = 0,  // not here, and not wanted: there is no room, or it is long in making
  kFound = 1,    // a payload frame has it
  kMake = 2,     // not here; the asker may make it and put it, for a while
  kSoon = 3,     // not here yet: another makes it. The asker may ask again, and wait
};
// Payload frames: for each found entry one, with its bytes and ScratchBuffer::kSlack more.
struct PeerFound {
  std::uint64_t request = 0;
  Status status;                     // kNotFound: no such pass, or the job has no lease there
  std::vector<PeerAnswer> answers;   // one a key
  std::vector<std::uint64_t> sizes;  // bytes of the found ones, in their order
  std::vector<std::uint64_t> costs_ns =
      {};  // what each took to make; 0, or an empty list: not known
  friend bool operator==(const PeerFound&, const PeerFound&) = default;
};
// Gives an entry to the worker that answered kMake. Payload frame 0 holds it.
struct PeerPut {
  WorkerId worker;  // who gives it
  JobId job;
  std::string pass;
  EntryWords key{};
  bool made = true;           // false: the sender does not make it after all; there is no payload
  std::uint64_t cost_ns = 0;  // what it took to make: reading and decoding; 0: not known
  friend bool operator==(const PeerPut&, const PeerPut&) = default;
};

struct Ping {
  std::uint64_t sequence = 0;
  friend bool operator==(const Ping&, const Ping&) = default;
};
struct Pong {
  std::uint64_t sequence = 0;
  friend bool operator==(const Pong&, const Pong&) = default;
};

}  // namespace headrace::wire
