#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headrace::coordinator {

// Cuts a command line into words as a shell does: at blanks, with '...', "..." and \ to keep them.
// Nothing is expanded. kInvalidArgument: a quote has no end. Pure.
[[nodiscard]] Result<std::vector<std::string>> SplitWords(std::string_view line);

// Whether the word is the same with and without quotes: letters, digits and some marks. Pure.
[[nodiscard]] bool IsPlainWord(std::string_view word);

// The words as a line that a POSIX shell reads as these words.
[[nodiscard]] std::string QuoteWords(const std::vector<std::string>& words);

}  // namespace headrace::coordinator
