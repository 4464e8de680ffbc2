#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "coordinator/state/update.h"

// A durable update as one line of JSON, so that `sqlite3 journal.db` is enough to read a journal.
// Keys are appended only; an old record lacks them and gets the default.
namespace headrace::coordinator {

// REQUIRES: IsDurable(update). Text that is not UTF-8 gets replacement characters.
[[nodiscard]] std::string EncodeUpdate(const Update& update);
// kDataLoss: not a record of this or an older release.
[[nodiscard]] Result<Update> DecodeUpdate(std::string_view text);

}  // namespace headrace::coordinator
