#include "simulate/trace/csv.h"

#include <charconv>
#include <cmath>

namespace headrace::simulate {
namespace {

std::string_view Trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string Shown(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr};
}

// Shortens a file's text for a message, and removes what moves a terminal's cursor.
std::string Printable(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, 40)) shown += c >= ' ' && c < 127 ? c : '?';
  return text.size() > 40 ? shown + "..." : shown;
}

}  // namespace

std::string_view FirstLine(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return Trim(text.substr(0, text.find('\n')));
}

std::optional<std::vector<std::string>> Split(std::string_view line, char separator) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      if (c != '"') {
        fields.back() += c;
      } else if (i + 1 < line.size() && line[i + 1] == '"') {
        fields.back() += line[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"' && Trim(fields.back()).empty()) {
      fields.back().clear();
      quoted = true;
    } else if (c == separator) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (quoted) return std::nullopt;
  for (std::string& field : fields) field = std::string(Trim(field));
  return fields;
}

std::string Quoted(std::string_view field) {
  if (field.find_first_of(",\"") == std::string_view::npos) return std::string(field);
  std::string quoted = "\"";
  for (const char c : field) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::optional<double> ParseNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::string_view Row::Text(std::size_t at) const {
  return at < fields_.size() ? std::string_view(fields_[at]) : std::string_view();
}

std::string_view Row::Text(std::string_view column) const {
  const auto it = columns_->find(column);
  return it == columns_->end() ? std::string_view() : Text(it->second);
}

Status Row::Wrong(std::string_view column, std::string_view expected,
                  std::string_view found) const {
  return InvalidArgument(std::string(file_) + ":" + std::to_string(line_) + ": " +
                         std::string(column) + ": expected " + std::string(expected) + ", not '" +
                         Printable(found) + "'");
}

Result<double> Row::Number(std::size_t at, std::string_view name, double least, double most) const {
  const std::string_view text = Text(at);
  const auto value = ParseNumber(text);
  if (!value || *value < least || *value > most) {
    return Wrong(name, "a number from " + Shown(least) + " to " + Shown(most), text);
  }
  return *value;
}

Result<double> Row::Number(std::string_view column, double least, double most) const {
  const auto it = columns_->find(column);
  return Number(it == columns_->end() ? fields_.size() : it->second, column, least, most);
}

Result<std::optional<double>> Row::Optional(std::string_view column, double least,
                                            double most) const {
  if (Text(column).empty()) return std::optional<double>();
  HR_TRY(const double value, Number(column, least, most));
  return std::optional<double>(value);
}

Table::Table(std::string_view file, std::string_view text, char separator, bool header)
    : file_(file), text_(text), separator_(separator), header_(header) {
  if (!header_) return;
  const auto names = Split(FirstLine(text_), separator_);
  if (!names) return;
  for (std::size_t i = 0; i < names->size(); ++i) columns_.emplace((*names)[i], i);
}

Status Table::Require(const std::vector<std::string_view>& columns) const {
  std::string missing;
  for (const std::string_view column : columns) {
    if (!Has(column)) missing += (missing.empty() ? "" : ", ") + std::string(column);
  }
  if (missing.empty()) return Status::Ok();
  return InvalidArgument(std::string(file_) + ":1: the header lacks " + missing);
}

Result<std::vector<Row>> Table::Rows() const {
  std::vector<Row> rows;
  std::string_view rest = text_;
  std::size_t width = 0;
  for (std::int64_t line = 1; !rest.empty(); ++line) {
    const std::size_t end = rest.find('\n');
    const std::string_view text = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (Trim(text).empty()) continue;
    auto fields = Split(text, separator_);
    const std::string where = std::string(file_) + ":" + std::to_string(line);
    if (!fields) return InvalidArgument(where + ": a quote is not closed on its line");
    if (width == 0) {
      width = fields->size();
      if (header_) continue;
    }
    if (header_ && fields->size() > width) {
      return InvalidArgument(where + ": expected at most the " + std::to_string(width) +
                             " fields of the header, not " + std::to_string(fields->size()));
    }
    rows.emplace_back(file_, line, std::move(*fields), &columns_);
  }
  return rows;
}

}  // namespace headrace::simulate
