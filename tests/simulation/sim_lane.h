#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/unique_fd.h"
#include "tests/simulation/dice.h"
#include "tests/simulation/sim_reactor.h"

namespace headrace::simulation {

// What the code of a lane makes. It keeps state: how many batches the lane has made. So a batch that
// is made twice, or out of turn, changes all that come after it.
// `nth`: 1 for the lane's first batch. Pure.
[[nodiscard]] std::vector<std::uint64_t> StageRows(std::uint64_t base_seed, std::int32_t lane,
                                                   std::int64_t nth,
                                                   const std::vector<std::int64_t>& keys);
// What the batch takes of its slot: more than the program's first guess, for some. Pure.
[[nodiscard]] std::uint64_t StageBytes(const std::vector<std::int64_t>& keys);

// A lane's process that the trainer has started, which runs the program's code for whichever worker
// asks. It keeps the rules of headrace/stage/lane.py and lane_requests.py: a batch that is asked for
// again is answered again, and not made again; one that the lane has passed is refused. Its turns are
// events. It keeps the batches that the trainer may not have. One thread.
class SimLane {
 public:
  struct Options {
    std::int32_t lane = 0;
    Duration least{}, most{};  // for a batch
    std::uint64_t slow = 1;    // so many times as long
    std::size_t ahead = 0;     // batches that it keeps beside the last one: lane_window, less 1
  };
  SimLane(std::shared_ptr<SimReactor> reactor, const Options& options, Dice dice);
  ~SimLane();
  SimLane(const SimLane&) = delete;
  SimLane& operator=(const SimLane&) = delete;

  // The trainer's end. Once.
  [[nodiscard]] UniqueFd TakeEnd() { return std::move(end_); }
  [[nodiscard]] SimProcess& process() { return *reactor_->process(); }
  // The trainer has let it go.
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  class Mapping;
  struct Worker;
  struct Asked;
  struct Made;
  using Name = std::pair<std::int64_t, std::int64_t>;  // iteration, batch

  void OnControl();
  void Serve(UniqueFd socket);
  void OnReadable(const std::shared_ptr<Worker>& worker);
  // False: what has come is no whole frame yet.
  bool TakeFrame(const std::shared_ptr<Worker>& worker);
  // By value: what the caller holds may be the entry that it takes out of `workers_`.
  void Drop(std::shared_ptr<Worker> worker);
  void Next();
  void Make(const Asked& asked);
  [[nodiscard]] const Made* Find(const Asked& asked) const;
  void AnswerMade(const Asked& asked, const Made& made);
  // `of`: null where nothing is given.
  void Answer(const Asked& asked, std::uint64_t outcome, std::uint64_t needed, const Made* of);

  const std::shared_ptr<SimReactor> reactor_;
  const Options options_;
  Dice dice_;
  UniqueFd control_, end_;
  std::map<std::uint64_t, std::shared_ptr<Worker>> workers_;
  std::uint64_t connections_ = 0;
  std::deque<Asked> asked_;
  bool busy_ = false;
  bool ended_ = false;
  Name newest_{-1, -1};
  std::deque<Made> kept_;  // in their order
  std::int64_t made_ = 0;  // what its code keeps
};

}  // namespace headrace::simulation
