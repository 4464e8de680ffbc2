#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace headrace::dataworker {

// Decides which member is next: weighted fair shares of a resource. The members' units cost very
// different amounts, which are known only when the units have run. Pure: costs come from outside,
// in any unit. Start-time fair queueing with a charge in advance:
//
//   each member has a virtual time, which grows by cost / weight of what it runs;
//   the active member with the least virtual time is next;
//   a unit is charged its member's mean cost when it starts and the difference when it ends, so
//   that several can run at once;
//   a member that becomes active begins at the virtual time of the last start, at least: a member
//   that was idle has saved nothing, and one that ran alone owes nothing.
//
// Holds: while two members are active, what they ran differs, each divided by its weight, by no
// more than what is running and one unit of each. O(log members) a unit. Thread-compatible.
// Source: Goyal, Vin, Cheng, "Start-time fair queuing", SIGCOMM 1996.
class FairShare {
 public:
  // First passes over active members of kPausable when it is asked for the others alone.
  enum class Kind : std::uint8_t { kPlain, kPausable };

  // A member. Its address may not change while it is active.
  class Member {
   public:
    explicit Member(double weight = 1) : weight_(weight) {}
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;
    [[nodiscard]] double weight() const { return weight_; }
    [[nodiscard]] bool active() const { return at_ != kNowhere; }
    // Cost of a unit, a running mean; below 0: none has run.
    [[nodiscard]] double mean() const { return mean_; }

   private:
    friend class FairShare;
    static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
    double weight_;
    double time_ = 0;   // virtual, of its next unit
    double floor_ = 0;  // an excess charge is given back down to here
    double mean_ = -1;
    std::uint64_t turn_ = 0;
    std::size_t at_ = kNowhere;  // in its heap
    Kind kind_ = Kind::kPlain;
  };

  // Makes the member active, because it has units to run. Another call changes its kind.
  void Activate(Member& member, Kind kind = Kind::kPlain);
  void Deactivate(Member& member);
  // Forgets the member, which leaves for another FairShare and takes nothing along.
  void Leave(Member& member);
  // The member that is next, of kPlain only or of all; nullptr: there is none.
  [[nodiscard]] Member* First(bool with_pausable = true) const;
  // Starts units of the member, one after the other. Returns what it is charged now, for Settle.
  double Start(Member& member, double units = 1);
  // Settles units that have ended and cost `cost` together.
  void Settle(Member& member, double charged, double cost, double units = 1);
  // Charges the member for what it used in another way. It puts the member back by at most `most`,
  // so that it does not wait for what nobody else wanted.
  void Charge(Member& member, double cost, double most);
  // Sets the weight of units that start after this call. REQUIRES: weight > 0.
  void SetWeight(Member& member, double weight) { member.weight_ = weight; }

 private:
  using Heap = std::vector<Member*>;
  [[nodiscard]] Heap& HeapOf(const Member& member) {
    return heaps_[static_cast<std::size_t>(member.kind_)];
  }
  static bool Before(const Member& a, const Member& b) {
    return a.time_ != b.time_ ? a.time_ < b.time_ : a.turn_ < b.turn_;
  }
  static void Put(Heap& heap, std::size_t at, Member* member);
  static void Up(Heap& heap, std::size_t at);
  static void Down(Heap& heap, std::size_t at);
  void Remove(Member& member);
  void Moved(Member& member);

  std::array<Heap, 2> heaps_;  // active members by kind, the next one first
  double now_ = 0;             // virtual time of the last start
  double mean_ = 0;            // cost of a unit of any member
  std::uint64_t turns_ = 0;
};

}  // namespace headrace::dataworker
