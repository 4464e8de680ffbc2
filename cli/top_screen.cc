#include "cli/top_screen.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "cli/show.h"
#include "cli/text.h"

namespace headrace::cli {
namespace {

// A cell: what is shown, and what orders it.
struct Cell {
  std::string text;
  double number = 0;  // used where all of a column have no words
  bool words = false;
};
Cell Number(double value, std::string text) { return {std::move(text), value, false}; }
Cell Words(std::string text) { return {Plain(std::move(text)), 0, true}; }

struct Column {
  const char* name;
  bool right;
  std::size_t most;  // characters
};
constexpr std::size_t kColumns = 8;
using Row = std::vector<Cell>;
constexpr Column kOfJobs[kColumns] = {
    {"JOB", true, 11},   {"NAME", false, 18}, {"HOST", false, 12}, {"STATE", false, 10},
    {"CORES", true, 11}, {"WAIT", true, 4},   {"SAMP/S", true, 8}, {"LEFT", true, 6}};
constexpr Column kOfWorkers[kColumns] = {
    {"WORKER", true, 11}, {"HOST", false, 18}, {"STATE", false, 8}, {"CORES", true, 11},
    {"JOBS", true, 5},    {"SAMP/S", true, 8}, {"MEM", true, 6},    {"CACHE", true, 6}};

// In characters of a terminal as far as we know: of UTF-8, not of what is wide.
std::size_t Width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}
std::string Cut(std::string text, std::size_t most) {
  if (Width(text) <= most) return text;
  if (most == 0) return "";
  std::size_t at = 0;
  for (std::size_t seen = 0; seen < most - 1; ++seen) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  }
  return text.substr(0, at) + "~";
}
std::string Padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t used = Width(text);
  const std::string space(width > used ? width - used : 0, ' ');
  return right ? space + text : text + space;
}

std::uint64_t SamplesOf(const wire::JobStatus& job) {
  std::uint64_t sum = 0;
  for (const wire::SessionLoad& load : job.sessions) sum += load.samples;
  return sum;
}

std::string ShortId(std::int64_t id, std::size_t without) {
  const std::string text = std::to_string(id);
  return without < text.size() ? text.substr(without) : text;
}

std::string LeftText(const wire::JobStatus& job) {
  if (job.remaining_samples < 0 || job.samples_per_second <= 0) return "-";
  const double ms = 1e3 * static_cast<double>(job.remaining_samples) / job.samples_per_second;
  return AgeText(static_cast<std::int64_t>(std::min(ms, 1e15)));
}

double Seconds(const wire::ClusterStatus& now, const wire::ClusterStatus* before) {
  return before == nullptr ? 0 : static_cast<double>(now.wall_ms - before->wall_ms) / 1000;
}

std::vector<Row> JobRows(const wire::ClusterStatus& now) {
  std::vector<std::int64_t> ids;
  for (const wire::JobStatus& job : now.jobs) ids.push_back(job.job.value);
  const std::size_t without = CommonDigits(ids);
  std::vector<Row> rows;
  for (const wire::JobStatus& job : now.jobs) {
    const double left = job.remaining_samples < 0 || job.samples_per_second <= 0
                            ? -1
                            : static_cast<double>(job.remaining_samples) / job.samples_per_second;
    const bool known = SamplesOf(job) > 0;
    rows.push_back(
        {Number(static_cast<double>(job.job.value), ShortId(job.job.value, without)),
         Words(job.name), Words(job.hostname), Words(job.state),
         Number(job.granted_millicores, Format("%.1f", job.granted_millicores / 1000.0) + "/" +
                                            Format("%.1f", job.demand_millicores / 1000.0)),
         Number(known ? job.wait_share : -1, known ? Format("%.0f%%", 100 * job.wait_share) : "-"),
         Number(job.samples_per_second, Format("%.0f", job.samples_per_second)),
         Number(left, LeftText(job))});
  }
  return rows;
}

std::vector<Row> WorkerRows(const wire::ClusterStatus& now, const wire::ClusterStatus* before) {
  std::vector<std::int64_t> ids;
  for (const wire::WorkerStatus& worker : now.workers) ids.push_back(worker.info.worker.value);
  const std::size_t without = CommonDigits(ids);
  std::map<WorkerId, const wire::WorkerHeartbeat*> old;
  if (before != nullptr) {
    for (const wire::WorkerStatus& each : before->workers) old[each.info.worker] = &each.last;
  }
  const double seconds = Seconds(now, before);
  std::vector<Row> rows;
  for (const wire::WorkerStatus& worker : now.workers) {
    const wire::WorkerHeartbeat& last = worker.last;
    const auto known = old.find(worker.info.worker);
    double busy = -1, rate = -1;
    if (known != old.end() && seconds > 0) {
      busy = std::max(0.0, last.cpu_seconds - known->second->cpu_seconds) / seconds;
      rate = last.samples >= known->second->samples
                 ? static_cast<double>(last.samples - known->second->samples) / seconds
                 : 0;
    }
    rows.push_back(
        {Number(static_cast<double>(worker.info.worker.value),
                ShortId(worker.info.worker.value, without)),
         Words(worker.info.host.hostname), Words(worker.state),
         Number(busy, (busy < 0 ? "-" : Format("%.1f", busy)) + "/" +
                          Format("%g", worker.info.usable_cores())),
         Number(static_cast<double>(last.jobs.size()), std::to_string(last.jobs.size())),
         Number(rate, rate < 0 ? "-" : Format("%.0f", rate)),
         Number(static_cast<double>(last.resident_bytes), BytesText(last.resident_bytes)),
         Number(static_cast<double>(last.cache_bytes), BytesText(last.cache_bytes))});
  }
  return rows;
}

void Order(std::vector<Row>& rows, std::size_t by, bool down) {
  std::stable_sort(rows.begin(), rows.end(), [=](const Row& a, const Row& b) {
    const Cell& x = down ? b[by] : a[by];
    const Cell& y = down ? a[by] : b[by];
    return x.words ? x.text < y.text : x.number < y.number;
  });
}

std::string LineOf(const Column (&columns)[kColumns], const std::size_t (&widths)[kColumns],
                   const std::function<std::string(std::size_t)>& cell) {
  std::string line;
  for (std::size_t c = 0; c < kColumns; ++c) {
    if (c > 0) line += " ";
    line += Padded(Cut(cell(c), widths[c]), widths[c], columns[c].right);
  }
  return line;
}

// Takes from the widest column of words until all columns fit, or have no more to give.
void Fit(const Column (&columns)[kColumns], std::size_t (&widths)[kColumns], std::size_t most) {
  constexpr std::size_t kLeast = 4;
  std::size_t all = kColumns - 1;
  for (const std::size_t width : widths) all += width;
  for (; all > most; --all) {
    std::size_t* widest = nullptr;
    for (std::size_t c = 0; c < kColumns; ++c) {
      if (columns[c].right || widths[c] <= kLeast) continue;
      if (widest == nullptr || widths[c] > *widest) widest = &widths[c];
    }
    if (widest == nullptr) return;
    --*widest;
  }
}

// What the jobs that wait most are told, and what else people should know, one line each.
std::vector<std::string> Notes(const wire::ClusterStatus& now) {
  std::vector<const wire::JobStatus*> jobs;
  for (const wire::JobStatus& job : now.jobs) {
    if (!job.advice.empty()) jobs.push_back(&job);
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const auto* a, const auto* b) { return a->wait_share > b->wait_share; });
  std::vector<std::string> notes;
  std::string others = RoomLine(now) + PoolsLine(now) + SlowLines(now) + UnfitLines(now);
  for (std::size_t end; (end = others.find('\n')) != std::string::npos; others.erase(0, end + 1)) {
    notes.push_back(others.substr(0, end));
  }
  for (const wire::JobStatus* job : jobs) {
    const std::string rank = job->rank >= 0 ? " rank " + std::to_string(job->rank) : "";
    notes.push_back(Plain(job->name) + rank + " " + Plain(job->advice));
  }
  return notes;
}

}  // namespace

std::string KeysIn(std::string_view typed) {
  std::string keys;
  for (std::size_t at = 0; at < typed.size(); ++at) {
    if (typed[at] != '\x1b') {
      keys += typed[at];
      continue;
    }
    // ESC [ ... letter, or ESC O letter (ECMA-48).
    if (++at >= typed.size() || (typed[at] != '[' && typed[at] != 'O')) continue;
    const bool long_one = typed[at] == '[';
    for (++at; long_one && at < typed.size() && (typed[at] < '@' || typed[at] > '~');) ++at;
  }
  return keys;
}

std::size_t CommonDigits(const std::vector<std::int64_t>& ids) {
  constexpr std::size_t kLeft = 3;
  if (ids.empty()) return 0;
  const std::string first = std::to_string(ids.front());
  std::size_t common = first.size() > kLeft ? first.size() - kLeft : 0;
  for (const std::int64_t id : ids) {
    const std::string text = std::to_string(id);
    if (text.size() != first.size()) return 0;
    const auto differs = std::mismatch(text.begin(), text.end(), first.begin()).first;
    common = std::min(common, static_cast<std::size_t>(differs - text.begin()));
  }
  return common;
}

bool TopScreen::Key(char key) {
  std::size_t& order = order_[workers_ ? 1 : 0];
  switch (key) {
    case 'q':
    case 'Q':
      return false;
    case '\t':
      workers_ = !workers_;
      page_ = 0;
      break;
    case 's':
      order = (order + 1) % kColumns;
      break;
    case 'S':
      order = (order + kColumns - 1) % kColumns;
      break;
    case 'r':
      down_[workers_ ? 1 : 0] = !down_[workers_ ? 1 : 0];
      break;
    case ' ':
      ++page_;
      break;
    case 'b':
      page_ -= page_ > 0 ? 1 : 0;
      break;
    case 'g':
      page_ = 0;
      break;
    default:
      break;
  }
  return true;
}

std::string TopScreen::Paint(const std::string& address, const wire::ClusterStatus& now,
                             const wire::ClusterStatus* before, Size size) {
  const auto& columns = workers_ ? kOfWorkers : kOfJobs;
  const std::size_t order = order_[workers_ ? 1 : 0];
  const bool down = down_[workers_ ? 1 : 0];
  std::vector<Row> rows = workers_ ? WorkerRows(now, before) : JobRows(now);
  Order(rows, order, down);

  std::uint32_t granted = 0, asked = 0;
  for (const wire::JobStatus& job : now.jobs) {
    granted += job.granted_millicores;
    asked += job.demand_millicores;
  }
  std::vector<std::string> lines = {
      "headrace " + Plain(now.version) + "  " + address + "  " + std::to_string(now.jobs.size()) +
      " jobs, " + std::to_string(now.workers.size()) + " workers, " +
      Format("%.1f", granted / 1000.0) + " of " + Format("%.1f", asked / 1000.0) + " cores"};
  const std::vector<std::string> notes = Notes(now);
  // The first line, the head of the table, the last line; a third of the rest for notes.
  const std::size_t rest = size.rows > 3 ? size.rows - 3 : 0;
  const std::size_t for_notes = std::min(notes.size(), rest / 3);
  const std::size_t shown = std::max<std::size_t>(rest - for_notes, 1);
  const std::size_t pages = std::max<std::size_t>((rows.size() + shown - 1) / shown, 1);
  page_ = std::min(page_, pages - 1);
  const std::size_t first = page_ * shown, last = std::min(first + shown, rows.size());

  std::size_t widths[kColumns];
  for (std::size_t c = 0; c < kColumns; ++c) {
    widths[c] = Width(columns[c].name) + (c == order ? 1 : 0);
    for (std::size_t r = first; r < last; ++r) {
      widths[c] = std::max(widths[c], std::min(Width(rows[r][c].text), columns[c].most));
    }
  }
  Fit(columns, widths, size.columns);
  lines.push_back(LineOf(columns, widths, [&](std::size_t c) {
    return std::string(columns[c].name) + (c == order ? (down ? "v" : "^") : "");
  }));
  for (std::size_t r = first; r < last; ++r) {
    lines.push_back(LineOf(columns, widths, [&](std::size_t c) { return rows[r][c].text; }));
  }
  if (rows.empty()) lines.emplace_back(workers_ ? "no workers" : "no jobs");
  // Notes and keys stay where they are, at the bottom.
  while (lines.size() + for_notes + 1 < size.rows) lines.emplace_back();
  lines.insert(lines.end(), notes.begin(), notes.begin() + static_cast<std::ptrdiff_t>(for_notes));
  lines.push_back(std::string(workers_ ? "workers" : "jobs") + ", page " +
                  std::to_string(page_ + 1) + " of " + std::to_string(pages) + "   q quit  tab " +
                  (workers_ ? "jobs" : "workers") + "  s sort  r reverse  space/b page");
  if (lines.size() > size.rows)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(size.rows));
  std::string text;
  for (const std::string& line : lines) {
    std::string cut = Cut(line, size.columns);
    cut.erase(cut.find_last_not_of(' ') + 1);
    text += (text.empty() ? "" : "\n") + cut;
  }
  return text;
}

}  // namespace headrace::cli
