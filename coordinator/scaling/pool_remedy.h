#pragma once

#include <string_view>

#include "base/result.h"

// What people are told of a trouble of a pool's, by its kind. Pure.
namespace headrace::coordinator {

// "a quota or limit is used up".
[[nodiscard]] std::string_view TroubleText(Detail kind);
// What to do about it, in a sentence: where the pool has no better word (Pool::Remedy).
[[nodiscard]] std::string_view GeneralRemedy(Detail kind);

}  // namespace headrace::coordinator
