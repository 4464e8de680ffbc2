#pragma once

#include <cstddef>
#include <deque>

namespace headrace::coordinator {

// Bounds what a client's word makes of a demand by the CPU use that workers measured. A trainer that
// lacks cores uses those that it has. So one that says that it needs far more, and leaves what it
// was granted idle, is not believed. Thread-compatible; a value.
class UseBound {
 public:
  static constexpr std::size_t kPoints = 20;  // that count
  static constexpr double kIdle = 2;          // times what it uses
  static constexpr double kAllUsed = 8;       // if it uses what it has, and waits

  // `used`, `granted`: cores, means over a point; `used` <= 0: not known. `lacks`: the trainer waits for
  // cores. `other`: it waits for something else, which explains idle ones. `queued`: part of its workers'
  // reports, 0..1, in which samples of it waited for a thread. Then it is the workers that have not used its cores:
  // their hosts are too busy.
  void Add(double used, double granted, bool lacks, bool other, double queued = 0);
  // Cores; kUnlimited: nothing speaks against the client.
  [[nodiscard]] double Most() const;
  // Whether all points that count are there.
  [[nodiscard]] bool whole() const { return points_.size() == kPoints; }

 private:
  struct Point {
    double used, granted;
    bool lacks, other;
    double queued;
  };
  std::deque<Point> points_;  // the newest last
};

}  // namespace headrace::coordinator
