#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "coordinator/quotas.h"
#include "coordinator/state/state.h"
#include "schemas/wire/control.h"
#include "schemas/wire/message.h"

// Checks on peers' messages beyond their form, so that no message takes unbounded room in the
// coordinator's state. kInvalidArgument names the field.
namespace headrace::coordinator {

[[nodiscard]] Status CheckText(std::string_view what, const std::string& text);
[[nodiscard]] Status CheckMessage(const wire::OpenJob& m);
[[nodiscard]] Status CheckMessage(const wire::RegisterWorker& m);
// The samples that a client has found to end workers, of its own data sets, and that are not held back
// yet. Bounded.
[[nodiscard]] std::vector<wire::BadSample> NewlyHeldBack(const State& state,
                                                         const wire::ConsumerHeartbeat& m);
// Whether there is room for another job, a loader of a job, another worker beside those that are
// not lost. kUnsupported: not within the quotas.
[[nodiscard]] Status CheckRoom(const Quotas& quotas, const State& state, const wire::OpenJob& m);
[[nodiscard]] Status CheckRoom(const Quotas& quotas, const Job& job, std::uint64_t plan_bytes);
[[nodiscard]] Status CheckRoom(const Quotas& quotas, const State& state);
// Makes the names in the message plain and short (base/plain_text.h). They go into logs, tables,
// metrics and the journal; this is the one place where they enter.
void MakeNamesPlain(wire::Body& body);
// What is kept of a client's words about its workers: of those that it leases, and bounded.
[[nodiscard]] std::vector<wire::UnfitWorker> LeasedUnfit(std::vector<wire::UnfitWorker> unfit,
                                                         const std::set<WorkerId>& leases);
// Whether the sender of a message has the token of the job or worker that it speaks for. NoSession: it
// has another one, or nobody is known by that number; its own process introduces itself again.
// kInvalidArgument: it has none, as peers of releases before tokens.
[[nodiscard]] Status CheckSender(const State& state, JobId job, std::string_view token);
[[nodiscard]] Status CheckSender(const State& state, WorkerId worker, std::string_view token);
// The same, and whether the consumer is the job's; NoSession: it is not.
[[nodiscard]] Status CheckSender(const State& state, const wire::ConsumerHeartbeat& m);
// kInfeasible: there is another local worker, and the host's cores would count twice.
[[nodiscard]] Status CheckNeeded(const State& state, const wire::WorkerInfo& local);

}  // namespace headrace::coordinator
