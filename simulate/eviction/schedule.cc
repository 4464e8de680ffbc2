#include "simulate/eviction/schedule.h"

#include <algorithm>
#include <map>
#include <utility>

#include "simulate/trace/csv.h"

namespace headrace::simulate {
namespace {

constexpr double kProcesses = 8;  // that prepare an object, as published

}  // namespace

Result<ObjectSets> ObjectSets::Read(std::string_view file, std::string_view text) {
  const Table table(file, text, ',', true);
  HR_RETURN_IF_ERROR(table.Require({"Cost", "ETag", "Key", "Size"}));
  HR_TRY(const std::vector<Row> rows, table.Rows());
  ObjectSets sets;
  const std::map<std::string, std::vector<std::size_t>*, std::less<>> known = {
      {"ILSVRC", &sets.reused},
      {"LibriSpeech", &sets.shared},
      {"IDS2018", &sets.window},
      {"Inrix", &sets.once}};
  std::vector<std::string> keys;
  for (const Row& row : rows) {
    const std::string_view key = row.Text("Key");
    const auto set = known.find(key.substr(0, key.find('/')));
    if (set == known.end()) return row.Wrong("Key", "one of the four data sets", key);
    HR_TRY(const double cost, row.Number("Cost", 0, 1e9));
    HR_TRY(const double size, row.Number("Size", 1, 1e15));
    const std::size_t at = sets.objects.size();
    set->second->push_back(at);
    keys.emplace_back(key);
    sets.objects.push_back(
        {.id = at,
         .bytes = static_cast<std::uint64_t>(size),
         .cost_s = cost / kProcesses,
         .data_set = static_cast<std::uint64_t>(std::distance(known.begin(), set))});
  }
  for (const auto& [name, set] : known) {
    if (set->empty()) return InvalidArgument(std::string(file) + " has no object of " + name);
  }
  std::sort(sets.window.begin(), sets.window.end(),
            [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  return sets;
}

std::vector<EvictionCell> EvictionCells() {
  std::vector<EvictionCell> cells;
  for (std::uint64_t gigabytes = 160; gigabytes <= 260; gigabytes += 20) {
    for (const int reuse : {1, 3, 5}) {
      for (const int share : {1, 3, 5, 7}) {
        for (const int window : {1, 3, 5, 7}) {
          cells.push_back({gigabytes * 1'000'000'000, reuse, share, window});
        }
      }
    }
  }
  return cells;
}

// Uniform in [0, most]: draws that are too large are thrown away.
std::uint32_t ScheduleMaker::UpTo(std::uint32_t most) {
  std::uint32_t mask = most;
  for (int shift = 1; shift <= 16; shift *= 2) mask |= mask >> shift;
  while (true) {
    const std::uint32_t drawn = static_cast<std::uint32_t>(random_()) & mask;
    if (drawn <= most) return drawn;
  }
}

Schedule ScheduleMaker::Next(const EvictionCell& cell) {
  enum class Kind { kReused, kShared, kWindow, kOnce };
  const auto ahead = static_cast<std::size_t>(cell.window);
  const std::size_t windows = sets_.window.size() > ahead ? sets_.window.size() - ahead : 0;
  std::vector<Kind> kinds(static_cast<std::size_t>(cell.reuse), Kind::kReused);
  kinds.insert(kinds.end(), static_cast<std::size_t>(cell.share), Kind::kShared);
  kinds.insert(kinds.end(), windows, Kind::kWindow);
  kinds.push_back(Kind::kOnce);
  for (std::size_t i = kinds.size() - 1; i > 0; --i) {
    std::swap(kinds[i], kinds[UpTo(static_cast<std::uint32_t>(i))]);
  }
  Schedule schedule;
  std::size_t first = 0;  // of the next window
  const auto add = [&](auto from, auto to, int times) {
    schedule.emplace_back();
    for (; from != to; ++from) schedule.back().push_back({*from, times});
  };
  for (const Kind kind : kinds) {
    if (kind == Kind::kReused) {
      add(sets_.reused.begin(), sets_.reused.end(), 1);
    } else if (kind == Kind::kShared) {
      add(sets_.shared.begin(), sets_.shared.end(), cell.share);
    } else if (kind == Kind::kOnce) {
      add(sets_.once.begin(), sets_.once.end(), 1);
    } else {
      const auto from = sets_.window.begin() + static_cast<std::ptrdiff_t>(first++);
      add(from, from + cell.window + 1, 1);
    }
  }
  return schedule;
}

}  // namespace headrace::simulate
