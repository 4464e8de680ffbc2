#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace headrace {

// What admits a job's trainers to one worker: 128 bits in hex. Only who has the worker's token can make
// it: the worker and the coordinator. The coordinator gives it to the job's trainer with a lease, and the
// worker knows it again, without having heard of the job before. A trainer learns neither the token nor
// another job's pass from it. It holds as long as the worker's process.
// Source: BLAKE2b with a key (RFC 7693), by libsodium. Thread-safe.
[[nodiscard]] std::string PassOf(std::string_view worker_token, JobId job);

// What admits worker `asker` to what another worker, `worker_token`'s, keeps of the job's samples. The
// coordinator gives it to the asker alone. Made as PassOf, and never equal to one: a trainer has that
// one, and may neither read nor write a cache.
[[nodiscard]] std::string PeerPassOf(std::string_view worker_token, JobId job, WorkerId asker);
// The same for an asker that may be on another host: it opens only what has a name that holds on all
// hosts. Never equal to a PeerPassOf.
[[nodiscard]] std::string WidePassOf(std::string_view worker_token, JobId job, WorkerId asker);

// A number by which people and graphs tell a job's sessions apart. It is always the same for one session,
// and tells nothing of the session's id, which is a secret. 48 bits. Source and threads as above.
[[nodiscard]] std::int64_t PublicNumberOf(std::string_view job_token, SessionId session);

}  // namespace headrace
