#pragma once

#include <string>

#include "schemas/wire/control.h"

// What a job had in all: a part of show.h's pages.
namespace headrace::cli {

// Seconds for which it waited.
[[nodiscard]] double StallSeconds(const wire::JobTotals& totals);
// "41% of its time: source 30%, queue 11%".
[[nodiscard]] std::string StallText(const wire::JobTotals& totals);

}  // namespace headrace::cli
