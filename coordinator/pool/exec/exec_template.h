#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headrace::coordinator {

// A command of the user's with places for what differs from worker to worker: {name}. Its words are
// cut as a shell cuts them. A word that is a place alone becomes all words of its value. Inside of
// another word the value comes as a shell would read it, so that `sh -c '... {args}'` works. Other
// braces stay. A value; immutable.
class ExecTemplate {
 public:
  using Values = std::map<std::string, std::vector<std::string>, std::less<>>;

  // kInvalidArgument: a quote has no end.
  static Result<ExecTemplate> Parse(std::string_view line);
  [[nodiscard]] bool empty() const { return words_.empty(); }
  // Whether {name} is anywhere in it.
  [[nodiscard]] bool Has(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> Fill(const Values& values) const;

 private:
  std::vector<std::string> words_;
};

}  // namespace headrace::coordinator
