#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "coordinator/state/update.h"

// Encodes a durable update as one line of JSON, so that `sqlite3 journal.db` can read a journal.
// Keys are only appended. An old record lacks new keys and gets their defaults.
namespace headrace::coordinator {

// REQUIRES: IsDurable(update). Text that is not UTF-8 gets replacement characters.
[[nodiscard]] std::string EncodeUpdate(const Update& update);
// kDataLoss: not a record of this or an older release.
[[nodiscard]] Result<Update> DecodeUpdate(std::string_view text);

}  // namespace headrace::coordinator
