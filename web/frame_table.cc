#include "web/frame_table.h"

#include "web/json_text.h"

namespace headrace::web {

void FrameTable::Begin() {
  std::erase_if(rows_, [&](const auto& each) { return each.second.seen != frame_; });
  ++frame_;
}

void FrameTable::Set(std::int64_t key, std::string text) {
  Row& row = rows_[key];
  if (row.text != text) {
    row.text = std::move(text);
    row.changed = frame_;
  }
  row.seen = frame_;
}

bool FrameTable::Keep(std::int64_t key) {
  const auto row = rows_.find(key);
  if (row == rows_.end()) return false;
  row->second.seen = frame_;
  return true;
}

std::string FrameTable::Whole() const {
  std::string text = "{\"columns\":" + columns_ + ",\"rows\":[";
  std::uint64_t count = 0;
  for (const auto& [key, row] : rows_) {
    if (row.seen != frame_) continue;
    if (count++ > 0) text += ',';
    text += row.text;
  }
  text += "],\"of\":";
  AppendNumber(text, count);
  return text + "}";
}

std::string FrameTable::Change() const {
  std::string text = "{\"rows\":[", gone;
  std::uint64_t count = 0;
  bool first = true;
  for (const auto& [key, row] : rows_) {
    if (row.seen != frame_) {
      // As it is in the row, which may be no number.
      if (!gone.empty()) gone += ',';
      gone.append(row.text, 1, row.text.find(',') - 1);
      continue;
    }
    ++count;
    if (row.changed != frame_) continue;
    if (!std::exchange(first, false)) text += ',';
    text += row.text;
  }
  text += "],\"gone\":[" + gone + "],\"of\":";
  AppendNumber(text, count);
  return text + "}";
}

}  // namespace headrace::web
