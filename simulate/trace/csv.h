#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// Tables of text, read from files that are not trusted.
namespace headrace::simulate {

// The whole text of a file. kNotFound, kResourceExhausted (more than 1 GiB).
[[nodiscard]] Result<std::string> ReadFile(const std::string& path);

// One row, with its file and line for error messages.
class Row {
 public:
  Row(std::string_view file, std::int64_t line, std::vector<std::string> fields,
      const std::map<std::string, std::size_t, std::less<>>* columns)
      : file_(file), line_(line), fields_(std::move(fields)), columns_(columns) {}

  [[nodiscard]] std::int64_t line() const { return line_; }
  [[nodiscard]] std::size_t size() const { return fields_.size(); }
  // Empty if the column or the field is missing.
  [[nodiscard]] std::string_view Text(std::string_view column) const;
  [[nodiscard]] std::string_view Text(std::size_t at) const;
  // A finite number in [least, most]. kInvalidArgument names the file, the line, the column and the
  // text found.
  [[nodiscard]] Result<double> Number(std::string_view column, double least, double most) const;
  [[nodiscard]] Result<double> Number(std::size_t at, std::string_view name, double least,
                                      double most) const;
  // No value if the column or the field is missing.
  [[nodiscard]] Result<std::optional<double>> Optional(std::string_view column, double least,
                                                       double most) const;
  [[nodiscard]] Status Wrong(std::string_view column, std::string_view expected,
                             std::string_view found) const;

 private:
  std::string_view file_;
  std::int64_t line_;
  std::vector<std::string> fields_;
  const std::map<std::string, std::size_t, std::less<>>* columns_;
};

// A table with or without a header. Keeps views of the caller's `file` and `text`. Fields may be
// quoted as in RFC 4180, except that the end of a line always ends a row.
class Table {
 public:
  Table(std::string_view file, std::string_view text, char separator, bool header);
  // Rows without the header and without empty lines. If a row has fewer fields than the header, the
  // last ones are missing. kInvalidArgument: a quote does not end, or a row has more fields than
  // the header.
  [[nodiscard]] Result<std::vector<Row>> Rows() const;
  [[nodiscard]] bool Has(std::string_view column) const { return columns_.contains(column); }
  // kInvalidArgument names the columns that are missing.
  [[nodiscard]] Status Require(const std::vector<std::string_view>& columns) const;

 private:
  std::string_view file_;
  std::string_view text_;
  char separator_;
  bool header_;
  std::map<std::string, std::size_t, std::less<>> columns_;
};

// The first line, without its end.
[[nodiscard]] std::string_view FirstLine(std::string_view text);
// Fields of one line; no value if a quote does not end.
[[nodiscard]] std::optional<std::vector<std::string>> Split(std::string_view line, char separator);
// Quotes a field so that Split gives it back unchanged.
[[nodiscard]] std::string Quoted(std::string_view field);
// Reads a whole text as a number; no value if it is not one.
[[nodiscard]] std::optional<double> ParseNumber(std::string_view text);

}  // namespace headrace::simulate
