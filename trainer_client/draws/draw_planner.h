#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/graph.h"
#include "base/result.h"
#include "trainer_client/draws/batch_draws.h"
#include "trainer_client/draws/lane_generator.h"
#include "trainer_client/draws/occurrences.h"
#include "trainer_client/draws/size_table.h"
#include "trainer_client/include/headrace/client.h"

namespace headrace::client {

// A batch whose random numbers are drawn, so that any worker may make it.
struct PlannedBatch {
  std::int64_t batch = 0;
  std::int32_t lane = 0;
  std::vector<std::int64_t> keys;
  std::vector<std::int32_t> params;  // RngMode::kTorch
  std::vector<std::uint64_t> seeds;  // RngMode::kSample
  std::vector<std::int32_t> skip;    // positions that the trainer makes, or that are never made
  // What `params` were drawn for, as in wire::BatchRequest::specs; empty without params.
  std::vector<std::optional<TensorSpec>> specs;
  std::vector<TensorSpec> values;  // of one sample, when they are known
  // torch.get_rng_state() after the batch, if the iteration began with lane_states.
  Bytes lane_state;
};

// Runs the lanes' generators ahead of the batches. Batch k belongs to lane k mod lanes, as in the
// stock DataLoader with that many workers. In a lane the samples draw one after the other. How much
// a sample draws depends on its image's size. So a lane waits for a size that is not known yet, and
// where only the trainer can tell (SampleNeeded). A batch is kept from Submit until Delivered.
// Pure: no clock, no I/O. Reactor thread. Methods: one for each event of a lane's life.
class DrawPlanner {
 public:
  // The analyzer takes the members of one that is moved out of a Result for unset.
  struct Options {  // NOLINT(clang-analyzer-core.uninitialized.Assign)
    RngMode rng = RngMode::kNone;
    std::int32_t lanes = 1;
    // Python plans draw on the workers: batches pass as they are.
    bool native = true;
    std::int32_t param_words = 0;
    // Whether `draw` takes numbers from Python's generator, too.
    bool with_python = false;
    // Whether it takes numbers from NumPy's, too. REQUIRES: with_python.
    bool with_numpy = false;
    DrawFunction draw;
    // Rows with sizes; null when there is nothing to look up (not kTorch, or no image).
    std::shared_ptr<SizeTable> dims;
    // Keys outside [0, keys) are the trainer's to make (and to raise on). -1: any key is valid.
    std::int64_t keys = -1;
    // key -> row; empty: the same. The memory outlives the planner.
    std::span<const std::int64_t> row_map;
  };

  explicit DrawPlanner(Options options);

  // Begins an iteration. kInvalidArgument: lane_draws, lane_seeds or lane_states has another number
  // of lanes (of generators, but for lane_states), or an entry is no state.
  Status Begin(const IterationOptions& iteration);
  void Skip(std::span<const std::int64_t> keys);
  // Submits a batch and returns its number. `lane`: the caller's choice, in plans that are not
  // native; -1: batch k goes to lane k mod lanes.
  std::int64_t Submit(std::vector<std::int64_t> keys, std::int32_t lane = -1);

  // Leaves these rows to the trainer, and those that are added later.
  void HoldBack(std::shared_ptr<const std::set<std::int64_t>> rows) {
    held_back_ = std::move(rows);
  }
  // The row of a key; -1: it has none, or none with sizes.
  [[nodiscard]] std::int64_t Row(std::int64_t key) const;

  // Keys whose sizes are needed and were not asked for yet.
  [[nodiscard]] std::vector<std::int64_t> TakeUnknown();
  void Described(std::int64_t key, const std::optional<TensorSpec>& spec);
  // Notes that the image of this key has another size now. Planned batches keep the old size, which
  // workers refuse. Batches that are drawn after this call wait for the new one.
  void SizeChanged(std::int64_t key);
  // Notes that the answer will not come. TakeUnknown returns the keys again that are still needed.
  void DescribeLost(std::span<const std::int64_t> keys);

  // The next batch that is ready, or nothing. A batch comes again after ReplanLane.
  [[nodiscard]] std::optional<PlannedBatch> Next();
  [[nodiscard]] std::optional<SampleNeeded> TakeNeeded();
  // kInvalidArgument: not the sample that was asked for, or not a state.
  Status Resolve(std::int64_t batch, std::int32_t position, ByteSpan state_after, bool failed);
  // Plans the lane again after `batch`, which is delivered already. Returns the batches whose plan
  // is void.
  Result<std::vector<std::int64_t>> Replan(std::int64_t batch, ByteSpan state_after);

  // Positions of a planned batch that the trainer makes or has made, with why.
  struct Unmade {
    std::int32_t position;
    Code code;
    const char* message;
  };
  [[nodiscard]] std::vector<Unmade> UnmadePositions(std::int64_t batch) const;
  // Fills in torch_state and torch_state_after, or seed, for a sample of a planned, undelivered
  // batch.
  void DescribeState(std::int64_t batch, MissingSample& sample);
  [[nodiscard]] const std::vector<std::int64_t>& keys(std::int64_t batch) const;

  void Delivered(std::int64_t batch);
  // How far each lane's generator has come; with Python's, then the same of these.
  [[nodiscard]] Result<std::vector<std::uint64_t>> LaneDraws() const;

 private:
  enum class Wait : std::uint8_t { kNothing, kSize, kTrainer };
  struct Record {
    std::int32_t lane = 0;
    bool planned = false;
    bool handed = false;  // returned by Next
    // Left over from the iteration before. It is drawn, because persistent lanes go on, but never
    // made.
    bool ghost = false;
    std::vector<std::int64_t> keys;
    std::vector<std::uint64_t> seeds;
    BatchDraws draws;
    LaneGenerator::Place after;
    Bytes state_after;  // where tell_states_
  };
  struct Lane {
    LaneGenerator generator;
    std::deque<std::int64_t> waiting;  // submitted, not planned; the first may be half drawn
    Wait wait = Wait::kNothing;
  };

  [[nodiscard]] bool torch() const { return options_.native && options_.rng == RngMode::kTorch; }
  // How many generators each lane has.
  [[nodiscard]] std::size_t GeneratorsOfLane() const;
  // The generators of a lane that begins from a seed.
  [[nodiscard]] ops::Generators Seeded(const IterationOptions& iteration, std::size_t lane) const;
  [[nodiscard]] bool HeldBack(std::int64_t row) const {
    return held_back_ != nullptr && held_back_->contains(row);
  }
  [[nodiscard]] bool Known(std::int64_t key) const;
  void Advance(Lane& lane);
  bool AdvanceBatch(Lane& lane, std::int64_t batch, Record& record);
  void Ask(std::int64_t key);

  Options options_;
  std::shared_ptr<const std::set<std::int64_t>> held_back_;
  std::vector<Lane> lanes_;
  std::unordered_map<std::int64_t, Record> records_;
  std::int64_t next_batch_ = 0;
  std::int64_t ghosts_ = 0;
  std::uint64_t base_seed_ = 0;
  std::vector<std::int64_t> unknown_;       // to be asked for
  std::unordered_set<std::int64_t> asked_;  // in unknown_, or asked for
  std::deque<std::int64_t> ready_;
  std::deque<SampleNeeded> needed_;
  Occurrences occurrences_;
  bool begun_ = false;
  bool tell_states_ = false;
  bool sizes_changed_ = false;
};

}  // namespace headrace::client
