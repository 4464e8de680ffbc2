#include "trainer_client/session/without_workers.h"

#include <utility>

namespace headrace::client {
namespace {

std::string Seconds(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

}  // namespace

WithoutWorkers::Options WithoutWorkers::Options::For(const ClientOptions& client,
                                                     const SessionOptions& session,
                                                     bool trainer_can) {
  Options options{
      .then = session.no_workers, .trainer_can = trainer_can, .timeout = client.connect_timeout};
  if (client.coordinator.empty()) {
    options.remedy =
        "the local workers cannot be started again; run with fewer workers or threads, or without "
        "Headrace (HEADRACE=off)";
    return options;
  }
  options.remedy = "start one with `headrace worker --coordinator " + client.coordinator + "`";
  // The worker that was started beside this process has to register first.
  if (session.gives_lanes && client.local_worker) {
    options.reference_patience = client.connect_timeout;
  }
  return options;
}

std::string WithoutWorkers::Why(const WorkerSet& workers) {
  const Status no_room = workers.NoRoom();
  if (!no_room.ok()) return "no data worker of this job has room (" + no_room.message() + ")";
  std::string why = workers.nothing_leased() ? "no data worker serves this job"
                                             : "no data worker of this job can be reached";
  if (!workers.last_refusal().ok()) why += " (" + workers.last_refusal().ToString() + ")";
  return why;
}

bool WithoutWorkers::SaysNow(SteadyTime now) {
  if (told_ && now - said_ < kSayAgain) return false;
  told_ = true;
  said_ = now;
  return true;
}

WithoutWorkers::Decision WithoutWorkers::Check(const WorkerSet& workers, std::size_t ready,
                                               SteadyTime now) {
  Decision decision;
  if (ready > 0) {
    if (told_) decision.say = "workers serve this job again, after " + Seconds(now - since_);
    told_ = false;
    had_one_ = true;
    since_ = now;
    return decision;
  }
  // The trainer must learn that its plan has no worker anywhere before it uses a first batch.
  const bool fails = options_.then == NoWorkers::kFail ||
                     (options_.then == NoWorkers::kLocal && !options_.trainer_can && !had_one_);
  const bool makes = options_.then == NoWorkers::kLocal && options_.trainer_can;
  const bool patient = !workers.had_reference() && now - started_ < options_.reference_patience;
  const Status refused = patient ? Status::Ok() : workers.AllRefuse();
  if (!refused.ok() && !makes) {
    decision.error = refused;
    return decision;
  }
  if (workers.loading()) since_ = now;
  const Duration without = now - since_;
  if (fails) {
    if (without >= options_.timeout) {
      decision.error = Unavailable(Why(workers) + "; " + options_.remedy);
    }
    return decision;
  }
  if (without < (makes ? options_.patience : options_.timeout)) return decision;
  decision.trainer_makes = makes;
  if (SaysNow(now)) {
    decision.say = Why(workers) + " for " + Seconds(without) + ": " +
                   (makes ? "the program makes its samples itself until one does"
                          : "the program waits for one") +
                   "; " + options_.remedy;
  }
  return decision;
}

}  // namespace headrace::client
