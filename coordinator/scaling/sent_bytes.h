#pragma once

namespace headrace::coordinator {

// Measures the bytes of a sample that cross a network to the trainer, in the form that workers send
// (docs/reference/estimator.md). Before a batch crossed a socket, batches as they are made are counted:
// they are the larger form. The value is a little more than what is measured, and it stays while that
// wobbles: leases follow it. Thread-compatible; a value.
class SentBytes {
 public:
  // Growth of a session's totals. `own`, `sockets`: bytes of finished batches that came through shared
  // memory, and over sockets; `received`: what crossed these sockets.
  void Add(double samples, double own, double sockets, double received);
  // Ends a control period; older ones count `keep` times as much as it, 0..1.
  void EndPeriod(double keep);
  [[nodiscard]] double each() const { return held_; }  // 0: not known
  // Whether a batch crossed a socket in the last period with samples.
  [[nodiscard]] bool crossed() const { return crossed_; }

 private:
  // Most that the value is over what is measured; a new one is by half of it.
  static constexpr double kWobble = 0.1;
  struct Sums {
    double samples = 0, finished = 0;  // all samples, and their bytes in finished batches
    double sockets = 0, received = 0;  // see Add
  };
  Sums period_, decayed_;
  double held_ = 0;
  bool crossed_ = false;
  int crossings_ = 0;  // periods in which something crossed, at most 2
};

}  // namespace headrace::coordinator
