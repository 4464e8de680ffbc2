#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace headrace::web {

// The rows of one table of a page: by key, each as the text of a JSON array, its key first.
class FrameTable {
 public:
  // `columns`: their names, as a JSON array.
  explicit FrameTable(std::string columns) : columns_(std::move(columns)) {}

  // A new frame: rows that are not set again before it is read are gone.
  void Begin();
  void Set(std::int64_t key, std::string row);
  // Leaves the row as it was; false: there is none.
  bool Keep(std::int64_t key);

  // {"columns": [...], "rows": [...], "of": N}: all rows.
  [[nodiscard]] std::string Whole() const;
  // {"rows": [...], "gone": [...], "of": N}: those that differ from the frame before.
  [[nodiscard]] std::string Change() const;

 private:
  struct Row {
    std::string text;
    std::uint64_t seen = 0, changed = 0;  // frames
  };
  const std::string columns_;
  std::uint64_t frame_ = 0;
  std::map<std::int64_t, Row> rows_;
};

}  // namespace headrace::web
