#include "trainer_client/session/elsewhere.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/log.h"
#include "trainer_client/session/batch_result.h"
#include "trainer_client/session/lane_states.h"

namespace headrace::client {
namespace {

Batch BatchOfVersion(const std::shared_ptr<Version>& version,
                     std::optional<NamesUsed> names = std::nullopt) {
  Batch batch = MakeBatch(wire::BatchDone(version->done), version->memory);
  batch.samples = version->done.samples;
  batch.lane_state = version->done.lane_state;
  batch.names = std::move(names);
  batch.hold = version;
  return batch;
}

}  // namespace

bool Elsewhere::MayServe(WorkerId worker) const {
  if (!compares_) return true;
  const bool suspected = std::ranges::any_of(
      suspicions_, [&](const auto& entry) { return entry.second.tried == worker; });
  return parts_.comparisons.trials().may_serve(worker) && !suspected;
}

void Elsewhere::OnState(WorkerId worker, WorkerLink::State state) {
  if (!compares_) return;
  if (state == WorkerLink::State::kReady) {
    parts_.comparisons.Ready(worker, parts_.workers.Serves(worker));
  } else {
    parts_.comparisons.Away(worker);
  }
}

bool Elsewhere::MadeHere(WorkerId worker) const {
  const WorkerLink* link = parts_.workers.Find(worker);
  return link != nullptr && link->given_lanes();
}

bool Elsewhere::AllMadeHere() const {
  return std::ranges::all_of(parts_.workers.links(),
                             [](const auto& entry) { return entry.second->given_lanes(); });
}

// A worker that comes later is on trial first, beside batches that teach.
void Elsewhere::Learn(WorkerId worker, const wire::BatchDone& done, ByteSpan memory) {
  if (MadeHere(worker) && !AllMadeHere()) names_.Learn(done, memory);
}

Elsewhere::Admission Elsewhere::Admit(Loan& loan, wire::BatchDone& done) {
  if (!parts_.plan.has_python_stage) return Admission::kTake;
  const MutableByteSpan memory = parts_.loans.Memory(loan.slot).first(done.used_bytes);
  if (MadeHere(loan.worker)) {
    Learn(loan.worker, done, memory);
    return Admission::kTake;
  }
  Result<NamesUsed> names = names_.Check(done, memory, loan.arena);
  if (names.ok()) {
    loan.names = std::make_shared<const NamesUsed>(std::move(names).value());
    return Admission::kTake;
  }
  done.status = names.status();
  if (!compares_) return Admission::kRefuse;
  // A batch beyond the bounds of the look is none's fault.
  if (names.status().code() == Code::kNotFound ||
      names.status().code() == Code::kResourceExhausted) {
    parts_.comparisons.Doubt(loan.worker);
    on_change_(loan.worker);
    return Admission::kMakeHere;
  }
  done.status = Withdraw(loan.worker, names.status());
  return Admission::kRefuse;
}

Status Elsewhere::Withdraw(WorkerId worker, const Status& found) {
  Status why = Unsupported("worker " + std::to_string(parts_.workers.Outside(worker).value) +
                           " on " + parts_.workers.HostOf(worker) +
                           " answers with what is not read here: " + found.message() +
                           ". It gets no more batches of this session");
  TakeNothingOf(worker, why);
  return why;
}

void Elsewhere::TakeNothingOf(WorkerId worker, const Status& why) {
  parts_.queue.CloseDelivered();
  parts_.queue.MakeAgain(worker);
  parts_.workers.Withdraw(worker, why, true);
}

std::vector<Comparison> Elsewhere::OnMade(const Loan& loan, const wire::BatchDone& done) {
  if (!parts_.comparisons.Wants(loan.ticket)) return {};
  const MutableByteSpan memory = parts_.loans.Memory(loan.slot).first(done.used_bytes);
  auto version = std::make_shared<Version>(Version{done, Bytes(memory.begin(), memory.end())});
  if (!HasPythonLanes(parts_.plan)) version->done.lane_state.clear();  // nobody goes on from it
  return parts_.comparisons.OnMade(loan.worker, loan.ticket, std::move(version));
}

void Elsewhere::OnShadow(const Loan& loan, wire::BatchDone&& done,
                         const std::vector<ByteSpan>& payload) {
  const std::uint32_t attempt = done.attempt;
  auto version = std::make_shared<Version>();
  Status valid = done.status;
  // A shadow misses no sample: a stage makes a batch or raises.
  if (valid.ok()) valid = CheckAnswer(parts_.plan, {}, 0, 0, loan.slot.bytes, done);
  if (valid.ok()) {
    version->memory.resize(done.used_bytes);
    if (loan.arena && payload.empty()) {
      std::ranges::copy(parts_.loans.Memory(loan.slot).first(done.used_bytes),
                        version->memory.begin());
    } else {
      valid = CopyPayload(payload, done.used_bytes, version->memory);
    }
  }
  parts_.loans.Return(loan.slot.id);
  if (!valid.ok()) {
    LogDebug("batch not compared error=\"" + valid.ToString() + "\"");
    parts_.comparisons.LoseShadow(attempt);
    return;
  }
  Learn(loan.worker, done, version->memory);
  version->done = std::move(done);
  if (!HasPythonLanes(parts_.plan)) version->done.lane_state.clear();
  if (const auto complete = parts_.comparisons.OnShadow(attempt, std::move(version))) {
    Compared(*complete);
  }
}

void Elsewhere::Compared(const Comparison& comparison) {
  if (SameBytes(*comparison.here, *comparison.there)) {
    Settle(comparison.tried, true);
    return;
  }
  // Its maker has named by now what it names, or differs.
  Result<NamesUsed> names = names_.Check(comparison.there->done, comparison.there->memory, false);
  if (names.status().code() == Code::kResourceExhausted) {
    parts_.comparisons.Leave(comparison.tried);
    return;
  }
  if (!names.ok()) {
    Settle(comparison.tried, false);
    (void)Withdraw(comparison.tried, names.status());
    return;
  }
  const std::uint64_t id = next_suspicion_++;
  suspicions_.emplace(id, comparison);
  on_change_(comparison.tried);
  Suspicion suspicion;
  suspicion.id = id;
  suspicion.batch = BatchBook::BatchOf(comparison.ticket);
  suspicion.worker = parts_.workers.Outside(comparison.tried).value;
  suspicion.host = parts_.workers.HostOf(comparison.tried);
  suspicion.here = BatchOfVersion(comparison.here);
  suspicion.there = BatchOfVersion(comparison.there, std::move(names).value());
  parts_.mailbox.Suspect(std::move(suspicion));
}

Result<Withdrawal> Elsewhere::Judge(std::uint64_t suspicion, bool equal) {
  const auto node = suspicions_.extract(suspicion);
  if (node.empty()) {
    return InvalidArgument("suspicion " + std::to_string(suspicion) + " is not to be judged");
  }
  const WorkerId tried = node.mapped().tried;
  Settle(tried, equal);
  if (equal) return Withdrawal();
  TakeNothingOf(tried, Unsupported("worker " + std::to_string(tried.value) +
                                   " makes other batches than this host"));
  const auto taken = parts_.book.taken().find(tried);
  return taken == parts_.book.taken().end() ? Withdrawal() : taken->second;
}

void Elsewhere::Settle(WorkerId tried, bool equal) {
  parts_.mailbox.AddComparison(equal);
  const bool known = parts_.comparisons.trials().standing(tried) != Trials::Standing::kUnknown;
  (void)parts_.comparisons.Judge(tried, equal);
  if (equal && known) on_change_(tried);
}

std::int64_t Elsewhere::Undecided() const {
  return parts_.comparisons.Undecided() + static_cast<std::int64_t>(suspicions_.size());
}

}  // namespace headrace::client
