#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace headrace::cli {

// Makes columns as wide as their widest cell; numbers are aligned right.
class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string Text() const {
    std::vector<std::size_t> widths(rows_[0].size(), 0);
    for (const auto& row : rows_) {
      for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    }
    std::string text;
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t c = 0; c < row.size(); ++c) {
        const std::string space(widths[c] - row[c].size(), ' ');
        line += (c > 0 ? "  " : "") + (IsNumber(c) ? space + row[c] : row[c] + space);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    return text;
  }

 private:
  // A column holds numbers if its first value starts with a digit.
  [[nodiscard]] bool IsNumber(std::size_t column) const {
    if (rows_.size() < 2 || rows_[1][column].empty()) return false;
    const char first = rows_[1][column][0];
    return (first >= '0' && first <= '9') || rows_[1][column] == "-";
  }
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace headrace::cli
