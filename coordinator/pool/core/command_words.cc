#include "coordinator/pool/core/command_words.h"

#include <algorithm>
#include <utility>

namespace headrace::coordinator {

Result<std::vector<std::string>> SplitWords(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;  // a word has begun, maybe an empty one
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
      open = true;
    } else if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      word += line[++i];
      open = true;
    } else if (quote == 0 && blank) {
      if (open) words.push_back(std::exchange(word, ""));
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (quote != 0) {
    return InvalidArgument("a " + std::string(1, quote) +
                           " without its end in: " + std::string(line));
  }
  if (open) words.push_back(std::move(word));
  return words;
}

bool IsPlainWord(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("._-/=:,@+").find(c) != std::string_view::npos;
  });
}

std::string QuoteWords(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += '\'';
    for (const char c : word) {
      if (c == '\'') {
        line += "'\\''";
      } else {
        line += c;
      }
    }
    line += '\'';
  }
  return line;
}

}  // namespace headrace::coordinator
