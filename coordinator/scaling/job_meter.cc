#include "coordinator/scaling/job_meter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace headrace::coordinator {
namespace {

double Seconds(std::uint64_t now, std::uint64_t before) {
  return static_cast<double>(now > before ? now - before : 0) * 1e-9;
}
double Count(std::uint64_t now, std::uint64_t before) {
  return static_cast<double>(now > before ? now - before : 0);
}

// What a trainer waits for: a time of the meter, and the total that clients report.
struct Cause {
  double TimeShares::*time;
  std::uint64_t wire::SessionLoad::*total;
};
constexpr std::array kCauses{Cause{&TimeShares::sampler, &wire::SessionLoad::wait_sampler_ns},
                             Cause{&TimeShares::source, &wire::SessionLoad::wait_source_ns},
                             Cause{&TimeShares::compute, &wire::SessionLoad::wait_compute_ns},
                             Cause{&TimeShares::python, &wire::SessionLoad::wait_python_ns},
                             Cause{&TimeShares::queue, &wire::SessionLoad::wait_queue_ns},
                             Cause{&TimeShares::network, &wire::SessionLoad::wait_network_ns},
                             Cause{&TimeShares::copy, &wire::SessionLoad::wait_copy_ns}};

void ScaleWaits(TimeShares& times, double factor) {
  for (const Cause& cause : kCauses) times.*cause.time *= factor;
}

// A session that was not counted for this long, in seconds, did not begin within the last periods.
constexpr double kMiddle = 10;

}  // namespace

JobMeter::Totals JobMeter::Growth(const wire::SessionLoad& now, const wire::SessionLoad& before) {
  Totals t;
  t.samples = Count(now.samples, before.samples);
  t.batches = Count(now.batches, before.batches);
  t.times.step = Seconds(now.step_ns, before.step_ns);
  for (const Cause& cause : kCauses) {
    t.times.*cause.time = Seconds(now.*cause.total, before.*cause.total);
  }
  // A client of an older release does not say what it waited for.
  const double stall = Seconds(now.stall_ns, before.stall_ns);
  t.times.compute += std::max(0.0, stall - t.times.wait());
  if (now.idle_known && t.times.wait() > 0) {
    const double idle = std::min(Seconds(now.idle_ns, before.idle_ns), t.times.wait());
    t.times.step += t.times.wait() - idle;
    ScaleWaits(t.times, idle / t.times.wait());
  }
  t.hits = Count(now.hit_samples, before.hit_samples);
  t.misses = Count(now.miss_samples, before.miss_samples);
  t.hit_cpu = Seconds(now.hit_cpu_ns, before.hit_cpu_ns);
  t.miss_cpu = Seconds(now.miss_cpu_ns, before.miss_cpu_ns);
  t.source_bytes = Count(now.source_bytes, before.source_bytes);
  t.reads = Count(now.misses, before.misses);
  t.read_s = Seconds(now.source_ns, before.source_ns);
  return t;
}

void JobMeter::Report(const std::vector<wire::SessionLoad>& loads) {
  std::unordered_map<SessionId, wire::SessionLoad> latest;
  latest.reserve(loads.size());
  double buffer = 0, ready = 0;
  bool delivered = false;
  for (const wire::SessionLoad& load : loads) {
    latest[load.session] = load;
    const auto old = last_.find(load.session);
    // What a session had before this coordinator began is in its totals, if not in its period.
    all_.Add(Growth(load, old == last_.end() ? wire::SessionLoad{} : old->second));
    if (old == last_.end() && Seconds(load.stall_ns, 0) + Seconds(load.step_ns, 0) > kMiddle) {
      continue;
    }
    const wire::SessionLoad before = old == last_.end() ? wire::SessionLoad{} : old->second;
    const Totals growth = Growth(load, before);
    sent_.Add(growth.samples, Count(load.shm_bytes, before.shm_bytes),
              Count(load.tcp_bytes, before.tcp_bytes),
              Count(load.received_bytes, before.received_bytes));
    period_.Add(growth);
    received_ += growth.samples;
    if (growth.batches > 0) {
      const double batch = growth.samples / growth.batches;
      buffer += batch * static_cast<double>(load.window_batches);
      ready += batch * static_cast<double>(std::min(load.ready_batches, load.window_batches));
      delivered = true;
    }
  }
  // A loader that rests for a period keeps its buffer.
  if (delivered) {
    buffer_ = buffer;
    ready_ = ready;
  }
  last_ = std::move(latest);
  leaves_.ReportLoads(loads);
  reported_ = true;
}

void JobMeter::Totals::Add(const Totals& more) {
  samples += more.samples;
  batches += more.batches;
  times += more.times;
  hits += more.hits;
  misses += more.misses;
  hit_cpu += more.hit_cpu;
  miss_cpu += more.miss_cpu;
  reads += more.reads;
  read_s += more.read_s;
  source_bytes += more.source_bytes;
}

wire::JobTotals JobMeter::totals() const {
  const auto whole = [](double value) { return static_cast<std::uint64_t>(std::llround(value)); };
  const auto ns = [&](double seconds) { return whole(seconds * 1e9); };
  const TimeShares& times = all_.times;
  return {.samples = whole(all_.samples),
          .batches = whole(all_.batches),
          .hit_samples = whole(all_.hits),
          .miss_samples = whole(all_.misses),
          .step_ns = ns(times.step),
          .stall_sampler_ns = ns(times.sampler),
          .stall_source_ns = ns(times.source),
          .stall_compute_ns = ns(times.compute),
          .stall_python_ns = ns(times.python),
          .stall_queue_ns = ns(times.queue),
          .stall_network_ns = ns(times.network),
          .stall_copy_ns = ns(times.copy),
          .cpu_seconds = all_used_,
          .granted_core_seconds = all_granted_};
}

void JobMeter::ReportLimited(double seconds) { limited_ = std::max(limited_, seconds); }

double JobMeter::remaining() const {
  double sum = 0;
  bool known = false;
  for (const auto& [session, load] : last_) {
    if (load.remaining_samples < 0) continue;
    sum += static_cast<double>(load.remaining_samples);
    known = true;
  }
  return known ? sum : kUnlimited;
}

Move JobMeter::EndPeriod(double granted_cores, double seconds) {
  // Workers hold work back in parallel, but periods follow each other.
  period_.times.limited += std::exchange(limited_, 0);
  seconds_ += seconds;
  all_granted_ += granted_cores * seconds;
  if (!reported_ || period_.samples <= 0) return Move::kHold;
  // Before its first sample the job began, and used little.
  const bool first = decayed_.hits + decayed_.misses <= 0;
  const double keep = std::exp2(-1 / kHalfLife);
  sent_.EndPeriod(keep);
  measured_.sent_bytes = sent_.each();
  const auto blend = [&](double& sum, double now) { sum = sum * keep + now; };
  // A path that is not taken keeps its account: after hours of decay it would have no digits left.
  if (period_.hits > 0) {
    blend(decayed_.hits, period_.hits);
    blend(decayed_.hit_cpu, period_.hit_cpu);
  }
  if (period_.misses > 0) {
    blend(decayed_.misses, period_.misses);
    blend(decayed_.miss_cpu, period_.miss_cpu);
    blend(decayed_.source_bytes, period_.source_bytes);
  }
  if (period_.reads > 0) {
    blend(decayed_.reads, period_.reads);
    blend(decayed_.read_s, period_.read_s);
    blend(decayed_.read_bytes, period_.source_bytes);
    reads_.fetch_s = decayed_.read_s / decayed_.reads;
    reads_.bytes = decayed_.read_bytes / decayed_.reads;
  }
  if (decayed_.misses > 0) {
    measured_.miss_cost = decayed_.miss_cpu / decayed_.misses;
    measured_.miss_bytes = decayed_.source_bytes / decayed_.misses;
  }
  if (decayed_.hits > 0) measured_.hit_cost = decayed_.hit_cpu / decayed_.hits;
  if (measured_.miss_cost <= 0) measured_.miss_cost = measured_.hit_cost / kHitGuess;
  if (decayed_.hits <= 0) measured_.hit_cost = measured_.miss_cost * kHitGuess;
  const double reads = period_.hits + period_.misses;
  if (reads > 0) hit_ = period_.hits / reads;
  leaves_.EndPeriod(period_.samples);
  if (leaves_.known()) {
    // The sums hold all samples of a stage as misses, whatever its lookups found.
    measured_ = leaves_.TermsOf(measured_);
    hit_ = leaves_.hit();
  }
  if (reads > 0) reads_.hit = std::clamp(1 - period_.reads / reads, 0.0, 1.0);
  times_ = period_.times;
  times_.limited =
      std::min(times_.limited, times_.source + times_.compute + times_.python + times_.queue);
  if (times_.all() > 0) rate_ = period_.samples / times_.all();
  if (times_.step > 0) measured_.ready_rate = period_.samples / times_.step;

  recent_.Add({times_, period_.samples, hit_ * reads, reads}, granted_cores);

  Sample sample;
  sample.samples = period_.samples;
  sample.step_s = times_.step;
  sample.wait_s = times_.wait();
  // More cores also read in parallel, unless the limit of the source holds them back.
  sample.cores_wait_s =
      std::max(0.0, times_.source + times_.compute + times_.python + times_.queue - times_.limited);
  sample.granted_cores = granted_cores;
  sample.hit = hit_;
  // Without a batch that was counted the client is too old to say.
  if (period_.batches > 0) sample.batches = period_.batches;
  if (seconds_ > 0 && !first) sample.used_cores = used_ / seconds_;
  if (reports_ > 0) sample.queued = static_cast<double>(queued_) / reports_;
  sample.buffer = buffer_;
  sample.ready = ready_;
  period_ = {};
  used_ = seconds_ = 0;
  reports_ = queued_ = 0;
  reported_ = false;
  return controller_.Observe(sample, measured_);
}

}  // namespace headrace::coordinator
