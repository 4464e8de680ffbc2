#include "dataworker/stage/confine/confinement.h"

#include <charconv>
#include <string_view>

namespace headrace::dataworker {
namespace {

struct NumberWord {
  std::string_view name;
  std::uint64_t Confinement::*number;
};
constexpr NumberWord kNumbers[] = {{"memory=", &Confinement::memory_bytes},
                                   {"files=", &Confinement::open_files},
                                   {"usual-files=", &Confinement::usual_files},
                                   {"processes=", &Confinement::processes}};
constexpr std::string_view kUser = "user=";
constexpr std::string_view kRoot = "root=";
constexpr std::string_view kFilter = "filter";
constexpr std::string_view kFewVariables = "few-variables";
constexpr std::string_view kVariable = "variable=";

bool TakeNumber(std::string_view word, Confinement& into) {
  for (const NumberWord& number : kNumbers) {
    if (!word.starts_with(number.name)) continue;
    const std::string_view digits = word.substr(number.name.size());
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), into.*number.number);
    return error == std::errc() && end == digits.data() + digits.size();
  }
  return false;
}

}  // namespace

Confinement Confinement::WithoutView() const {
  Confinement same = *this;
  same.roots.clear();
  same.few_variables = false;
  same.variables.clear();
  if (same.user.empty()) same.processes = 0;
  return same;
}

std::vector<std::string> Confinement::Words() const {
  std::vector<std::string> words;
  if (!user.empty()) words.push_back(std::string(kUser) + user);
  for (const NumberWord& number : kNumbers) {
    if (this->*number.number == 0) continue;
    words.push_back(std::string(number.name) + std::to_string(this->*number.number));
  }
  if (filter) words.emplace_back(kFilter);
  for (const std::string& root : roots) words.push_back(std::string(kRoot) + root);
  if (few_variables) words.emplace_back(kFewVariables);
  for (const std::string& name : variables) words.push_back(std::string(kVariable) + name);
  return words;
}

Result<Confinement> Confinement::Parse(std::span<const std::string> words) {
  Confinement parsed;
  for (const std::string& word : words) {
    if (word == kFilter) {
      parsed.filter = true;
    } else if (word.starts_with(kUser)) {
      parsed.user = word.substr(kUser.size());
    } else if (word.starts_with(kRoot)) {
      parsed.roots.push_back(word.substr(kRoot.size()));
    } else if (word == kFewVariables) {
      parsed.few_variables = true;
    } else if (word.starts_with(kVariable)) {
      parsed.variables.push_back(word.substr(kVariable.size()));
    } else if (!TakeNumber(word, parsed)) {
      return InvalidArgument("no such confinement of a process: " + word);
    }
  }
  return parsed;
}

}  // namespace headrace::dataworker
