#pragma once

#include <string>

#include "base/result.h"

namespace headrace::coordinator {

// Checks SQLite's write-ahead log before SQLite reads it. SQLite takes the first frame with a wrong
// checksum for the end of the log, and drops what follows. That is right for the last transaction: a
// crash tore it on its way to the disk, and nobody was told of it. Anywhere before it the disk has
// changed what was acknowledged.
//
// Not seen: a change within the last transaction, which looks as if it were torn.
//
// kDataLoss: changed; the message names the file and the remedy. No such file is no error.
// Source: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
[[nodiscard]] Status CheckWal(const std::string& path);

}  // namespace headrace::coordinator
