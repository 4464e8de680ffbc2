#pragma once

#include <span>
#include <string>
#include <string_view>

namespace headrace::cli {

// The one of `known` that somebody who wrote `word` most likely meant: it begins with `word`, or is at most a third
// of its letters away from it (letters that are other, missing, too many, or two in the other order). Empty: none,
// or two that are as near. Pure.
[[nodiscard]] std::string Nearest(std::string_view word, std::span<const std::string> known);

}  // namespace headrace::cli
