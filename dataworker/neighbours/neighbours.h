#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "dataworker/cache/sealed_memory.h"
#include "dataworker/neighbours/neighbour_words.h"
#include "net/reactor.h"

namespace headrace::dataworker {

// What the neighbours of a worker keep: the asking half of NeighbourDesk. They are found by their sockets in the
// private directory of this user, and forgotten when their connection ends, however they end. What lanes have mapped
// of their memory stays valid.
//
// Nothing is asked before a lane asks. A neighbour's index is a sealed memory file, which stays theirs to change by
// making another. What does not keep to the words, or is of another ground, is hung up on and left alone for
// kLeftAlone. One that is late with an index is taken to make it: what it has said last counts. One that is silent at
// two such questions in a row, or at two segments while it makes no index, counts as gone until it says what it has.
// Whoever waits for its segments then waits no longer than for the first. One that has too much to read stays, and is
// not asked. Reactor thread; nothing is ended inside what it calls.
class Neighbours {
 public:
  static constexpr Duration kPatience = std::chrono::milliseconds(50);
  static constexpr Duration kLookEvery = std::chrono::seconds(1);  // into the directory
  static constexpr Duration kLeftAlone = std::chrono::seconds(60);
  static constexpr std::size_t kMost = 63;
  // Ids of neighbours, each of one connection's, and never another's: a lane may have an index of any age. When all
  // are given, no new neighbour is found. Numbers of segments are smaller than 2^kNumberBits.
  static constexpr std::uint64_t kMostId = (std::uint64_t{1} << 15) - 1;
  static constexpr int kNumberBits = 48;

  struct Parts {
    std::string directory;
    std::string own;  // the name of the worker's own socket there: "w7.leaves"
    NeighbourGround ground{};
    std::size_t most_index_bytes = 0;
    std::function<bool(ByteSpan)> is_index;  // whether the rows may be believed
    std::function<bool(std::uint64_t)>
        is_of_a_file;  // whether a segment of that number is no memory
    std::size_t most_segment_bytes = 0;
    std::uint64_t most_id = kMostId;
  };
  // Has none before Begin. `reactor` outlives it.
  explicit Neighbours(net::Reactor& reactor) : reactor_(reactor) {}
  // Answers nobody any more.
  ~Neighbours();
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;
  void Begin(Parts parts) { parts_ = std::move(parts); }

  // Asks all for what is new, and calls `then` once, when they have answered or kPatience is over; inside, if there
  // is nobody to ask.
  void Refresh(std::function<void()> then);

  struct Offered {
    std::uint64_t neighbour = 0;  // its id
    std::shared_ptr<const SealedMemory> index;
  };
  // As the neighbours have said last, in the order of their ids; those that keep nothing are left out.
  [[nodiscard]] std::vector<Offered> offered() const;
  // Grows whenever offered() would say something else.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  struct File {
    UniqueFd descriptor;  // of sealed memory, or of a file
    std::uint64_t bytes = 0;
  };
  using OnSegment = std::function<void(Result<File>)>;
  // Asks for a segment of that index, and calls `then` once, within kPatience. kNotFound: it was given up, or the
  // neighbour has gone, is silent, or has too much to read, or no descriptor is left.
  void Segment(std::uint64_t neighbour, std::uint64_t number, OnSegment then);

 private:
  struct Wanted {  // a segment
    std::uint64_t number = 0;
    OnSegment then;
    net::TimerId deadline = 0;
  };
  using WantedByRequest = std::map<std::uint64_t, Wanted>;
  struct Answered {
    OnSegment then;
    Result<File> file;
  };
  struct Known {
    std::string name;
    UniqueFd socket;
    std::uint64_t index_request = 0;  // that has no answer; 0: none
    bool late = false;                // with that answer
    bool silent = false;              // at the segment that was asked for last
    bool mute = false;                // counts as gone
    std::uint64_t version = 0;        // of the index; 0: none came yet
    std::shared_ptr<const SealedMemory> index;
    WantedByRequest wanted;
  };

  void Look();
  void Connect(const std::string& name);
  void OnPacket(std::uint64_t id);
  // `answered`: what it is an answer to, for the caller to call.
  Status OnTold(Known& of, const NeighbourTold& told, UniqueFd descriptor,
                std::optional<Answered>& answered);
  Status OnIndex(Known& of, const NeighbourTold& told, UniqueFd descriptor);
  [[nodiscard]] Result<File> SegmentOf(std::uint64_t number, const NeighbourTold& told,
                                       UniqueFd descriptor) const;
  void Forget(std::uint64_t id, bool leave_alone);
  void OnSilence(Known& of);  // at a segment
  void Mute(Known& of);
  void TellNothing(WantedByRequest wanted);
  void OnLate();
  void EndRoundIfAllAnswered();

  net::Reactor& reactor_;
  Parts parts_;
  std::map<std::uint64_t, Known> known_;           // by id
  std::map<std::string, SteadyTime> left_alone_;   // by name, until when
  std::set<std::uint64_t> awaited_;                // of this round
  std::vector<std::function<void()>> refreshing_;  // who waits for it
  net::TimerId late_ = 0;                          // 0: none
  SteadyTime looked_ = SteadyTime::min();
  std::uint64_t version_ = 0, last_id_ = 0, last_request_ = 0;
};

}  // namespace headrace::dataworker
