#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "remote/options.h"
#include "remote/transfer_job.h"

// The pace at which a client's thread receives for meters.
namespace headrace::remote {

// The intake of a job that is about to start, and has `taker` tell it what comes. The clock outlives it.
// Empty: nobody pays for the job.
std::unique_ptr<Intake> BeginIntake(const TransferJob& job, std::uint64_t buffer, Clock& clock,
                                    Transfer::Taker& taker);

// Transfers that are held, by what their sockets have.
struct HeldTransfers {
  // Those that could read, of each meter; the oldest first. None is empty.
  std::map<Meter*, std::vector<RunningTransfer*>> readable;
  std::vector<curl_waitfd> quiet;  // sockets of the others
};
// Looks at all sockets, with one system call. Puts off the deadlines of those that could have read.
[[nodiscard]] HeldTransfers LookAtHeld(RunningTransfers& running, SteadyTime now);
// Lets one transfer of each meter read once, if it may: the oldest, so that each ends soon. Returns those
// that ended by it.
[[nodiscard]] std::vector<std::pair<CURL*, CURLcode>> ResumeHeld(HeldTransfers& held,
                                                                 SteadyTime now);

// The transfers with a meter whose store took too long: nothing came for `limits.slow`, or it is after
// the deadline. libcurl's own timeouts would count the time for which they were held.
[[nodiscard]] std::vector<CURL*> TooLate(const RunningTransfers& running,
                                         const RequestLimits& limits, SteadyTime now);

}  // namespace headrace::remote
