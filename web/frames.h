#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "web/frame_table.h"
#include "web/history.h"
#include "web/page_state.h"

namespace headrace::web {

// Makes what a page is sent: the first frame whole, then what has changed. A row has the words of
// `headrace jobs|workers|datasets --json`, at the precision that people see. The numbers of a worker are
// renewed in each fifth frame, and its state in each: so 10,000 workers change a fifth of their rows in one.
// Pure; thread-compatible.
class FrameMaker {
 public:
  // For the JSON that the version names: grows when a word changes its meaning or goes.
  static constexpr int kFormat = 1;
  static constexpr std::uint64_t kRenewal = 5;  // frames

  FrameMaker();

  // The next frame. `last`: the last step of a job's history, or nullptr.
  void Take(
      const PageState& state,
      const std::function<const HistoryStep*(JobId)>& last = [](JobId) { return nullptr; });
  // Of the last one; 0: there was none.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::string Whole() const { return Text(true); }
  [[nodiscard]] std::string Change() const { return Text(false); }

 private:
  // Of a worker's counters, when its numbers were renewed.
  struct Base {
    std::uint64_t seen = 0;  // frame
    std::int64_t ms = 0;
    double cpu_seconds = 0;
    std::uint64_t samples = 0, hits = 0, misses = 0;
    double busy_cores = -1, samples_per_second = -1,
           hit_share = -1;  // since the base before; -1: none
    std::string told;       // what is renewed at once
  };
  [[nodiscard]] std::string Text(bool whole) const;
  void TakeWorker(const wire::WorkerStatus& worker, std::int64_t now_ms);

  std::uint64_t number_ = 0;
  std::string head_;  // of both forms
  FrameTable jobs_, workers_, datasets_;
  std::map<WorkerId, Base> bases_;
};

// The columns of the three tables, for tests.
[[nodiscard]] const std::vector<std::string>& JobColumns();
[[nodiscard]] const std::vector<std::string>& WorkerColumns();
[[nodiscard]] const std::vector<std::string>& DatasetColumns();

}  // namespace headrace::web
