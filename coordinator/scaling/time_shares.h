#pragma once

namespace headrace::coordinator {

// Where a trainer's time went, in seconds. All but `step` are waiting in next(). If the device's
// idle time is known, only waiting while it was idle counts; the rest is `step`.
struct TimeShares {
  double step = 0;
  double sampler = 0, source = 0, compute = 0, python = 0, queue = 0, network = 0, copy = 0;
  double limited = 0;  // part of the waiting: held back by a limit of the source

  [[nodiscard]] double wait() const {
    return sampler + source + compute + python + queue + network + copy;
  }
  [[nodiscard]] double all() const { return step + wait(); }
  TimeShares& operator+=(const TimeShares& more) {
    step += more.step;
    sampler += more.sampler;
    source += more.source;
    compute += more.compute;
    python += more.python;
    queue += more.queue;
    network += more.network;
    copy += more.copy;
    limited += more.limited;
    return *this;
  }
};

}  // namespace headrace::coordinator
