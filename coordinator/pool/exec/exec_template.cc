#include "coordinator/pool/exec/exec_template.h"

#include <algorithm>
#include <utility>

#include "coordinator/pool/core/command_words.h"

namespace headrace::coordinator {

Result<ExecTemplate> ExecTemplate::Parse(std::string_view line) {
  ExecTemplate made;
  HR_TRY(made.words_, SplitWords(line));
  return made;
}

bool ExecTemplate::Has(std::string_view name) const {
  std::string place(1, '{');
  place.append(name).push_back('}');
  return std::ranges::any_of(
      words_, [&](const std::string& word) { return word.find(place) != std::string::npos; });
}

std::vector<std::string> ExecTemplate::Fill(const Values& values) const {
  std::vector<std::string> filled;
  for (const std::string& word : words_) {
    const bool braced = word.size() > 2 && word.front() == '{' && word.back() == '}';
    if (const auto whole = braced ? values.find(word.substr(1, word.size() - 2)) : values.end();
        whole != values.end()) {
      filled.insert(filled.end(), whole->second.begin(), whole->second.end());
      continue;
    }
    // From left to right, so that what came from a value is not looked at again.
    std::string text;
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t end = word[at] == '{' ? word.find('}', at) : std::string::npos;
      const auto value =
          end == std::string::npos ? values.end() : values.find(word.substr(at + 1, end - at - 1));
      if (value == values.end()) {
        text += word[at++];
      } else {
        // A single plain value needs no quotes: --name=w{member}.
        const bool plain = value->second.size() == 1 && IsPlainWord(value->second.front());
        text += plain ? value->second.front() : QuoteWords(value->second);
        at = end + 1;
      }
    }
    filled.push_back(std::move(text));
  }
  return filled;
}

}  // namespace headrace::coordinator
