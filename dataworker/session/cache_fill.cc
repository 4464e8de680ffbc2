#include "dataworker/session/cache_fill.h"

#include <algorithm>
#include <utility>

#include "dataworker/session/on_reactor.h"
#include "dataworker/source/ranges/zip_member.h"

namespace headrace::dataworker {
namespace {

// While others have work it looks again after this time.
constexpr Duration kLookAgain = std::chrono::milliseconds(10);
// Samples for which there was no room, then a rest. Others may make them too, so one says little.
constexpr int kMostRefused = 16;
constexpr Duration kRest = std::chrono::seconds(10);
constexpr std::size_t kOpenAThread = 4;
constexpr std::size_t kKeptBytes = std::size_t{32} << 20;  // of a thread's buffers

}  // namespace

// Makes the cache entry of one sample from its bytes.
class CacheFill::Sample final : public Work {
 public:
  using OnMade = std::function<void(Outcome)>;
  // `kept`: of the plan.
  Sample(SessionEnvironment& environment, std::shared_ptr<const CompiledPlan> plan,
         std::shared_ptr<const CacheLease> cache, const KeptForm& kept, CompiledPlan::Location at,
         SampleInput input, OnMade on_made)
      : Work(1, {}, Reads::kAsked),  // it reads nothing itself
        plan_(std::move(plan)),
        cache_(std::move(cache)),
        kept_(kept),
        pictures_(environment.pictures),
        clock_(environment.reactor.clock()),
        at_(at),
        input_(std::move(input)),
        on_made_(std::move(on_made)) {}

 protected:
  void Run(std::int64_t /*unit*/, ThreadContext& context) override {
    const Result<bool> kept = Make(context);
    outcome_ = !kept.ok() ? Outcome::kFailed : *kept ? Outcome::kKept : Outcome::kRefused;
  }
  void Finish() override {
    input_ = SampleInput();  // its place in the window is free
    on_made_(outcome_);
  }

 private:
  // False: there is no room, or somebody else makes it.
  Result<bool> Make(ThreadContext& context) {
    SourceSample& read = input_.bytes->sample;
    HR_RETURN_IF_ERROR(UnpackSample(*at_.source, at_.row, read, context.unpacked));
    if (kept_.as.form == CacheForm::kEncoded) {
      auto claim = cache_->TryClaim({read.content, EntryForm()}, read.bytes.size(), input_.found);
      return claim && claim->Commit(read.bytes, input_.waited);
    }
    if (!read.encoded) return false;
    LargeScratch scratch(context);
    HR_TRY(const TensorSpec spec, kept_.runner->ReadSource(read.bytes));
    HR_RETURN_IF_ERROR(
        pictures_.Admit(spec, *at_.source, at_.row, scratch, [this] { return cancelled(); }));
    HR_TRY(const std::size_t bytes, CompiledPlan::PayloadBytes(*kept_.runner, spec));
    auto claim = cache_->TryClaim({read.content, kept_.as.entry}, bytes, input_.found);
    if (!claim) return false;
    const SteadyTime begin = clock_.Now();
    HR_RETURN_IF_ERROR(kept_.runner->RunPrefix(read.bytes, context.ops, &context.payload));
    const bool kept = claim->Commit(context.payload, input_.waited + (clock_.Now() - begin));
    if (context.payload.capacity() > kKeptBytes) Bytes().swap(context.payload);
    return kept;
  }

  const std::shared_ptr<const CompiledPlan> plan_;
  const std::shared_ptr<const CacheLease> cache_;
  const KeptForm& kept_;
  PictureMemory& pictures_;
  const Clock& clock_;
  const CompiledPlan::Location at_;
  SampleInput input_;
  const OnMade on_made_;
  Outcome outcome_ = Outcome::kFailed;
};

void CacheFill::Use(std::shared_ptr<const CompiledPlan> plan) {
  plan_ = std::move(plan);
  Restart();
}

void CacheFill::Follow(const wire::FillOrder& order) {
  const bool begins =
      order_.bytes_per_second == 0 || order_.part != order.part || order_.parts != order.parts;
  order_ = order;
  if (order_.bytes_per_second == 0) {
    StopTimer();
  } else if (begins) {
    Restart();
  } else {
    Pump();
  }
}

void CacheFill::Restart() {
  next_ = order_.part;
  refused_ = 0;
  rests_until_ = SteadyTime::min();
  counted_ = environment_.reactor.clock().Now();
  allowance_ = 0;
  Pump();
}

void CacheFill::Close() {
  closed_ = true;
  StopTimer();
}

bool CacheFill::Idle() const {
  // Its own that wait count too: threads or the source are busy then.
  return environment_.queue.queued() == 0 && environment_.reads->waiting_rows() == 0;
}

const KeptForm& CacheFill::Kept() const {
  return plan_->kept(environment_.ledger.FormOf(attachment_.job()));
}

std::size_t CacheFill::Most() const {
  const auto threads = static_cast<std::size_t>(environment_.executor.concurrency());
  return plan_->waits() ? kOpenAThread * threads : threads;
}

void CacheFill::Pump() {
  if (closed_ || plan_ == nullptr || order_.bytes_per_second == 0 || !plan_->has_graph()) return;
  const std::shared_ptr<const CacheLease> cache = attachment_.cache();
  if (cache == nullptr || Kept().as.form == CacheForm::kNone) return;
  const SteadyTime now = environment_.reactor.clock().Now();
  const bool bounded = order_.bytes_per_second != wire::FillOrder::kNoBound;
  if (bounded) {
    const auto rate = static_cast<double>(order_.bytes_per_second);
    // At most a second's worth: what was idle before is gone.
    allowance_ =
        std::min(rate, allowance_ + rate * std::chrono::duration<double>(now - counted_).count());
    counted_ = now;
  }
  while (open_ < Most() && next_ < plan_->keys()) {
    if (now < rests_until_) return PumpAfter(rests_until_ - now);
    if (!Idle() || (bounded && allowance_ < 0)) return PumpAfter(kLookAgain);
    const std::int64_t key = next_;
    next_ += order_.parts;
    Begin(key);
  }
  // For some there was no room, or somebody else made them and may not have kept them.
  if (next_ >= plan_->keys() && open_ == 0 && refused_ > 0) {
    if (now < rests_until_) return PumpAfter(rests_until_ - now);
    next_ = order_.part;
    refused_ = 0;
    rests_until_ = now + kRest;
    PumpAfter(kRest);
  }
}

void CacheFill::Begin(std::int64_t key) {
  const Result<CompiledPlan::Location> at = plan_->Locate(key);
  if (!at.ok() || !at->source->cacheable()) return;
  ++open_;
  SampleInputs::Parts parts;
  parts.reads = environment_.reads;
  parts.asker = {attachment_.job(), attachment_.session(), IterationId()};
  parts.cache = attachment_.cache();
  parts.form = Kept().as.entry;
  parts.clock = &environment_.reactor.clock();
  std::vector<SampleInputs::Sample> samples(1);
  samples[0].source = std::shared_ptr<Source>(plan_, at->source);
  samples[0].row = at->row;
  auto on_input = OnReactor(
      environment_.reactor, weak_from_this(),
      [at = *at](CacheFill& fill, SampleInput input) { fill.OnInput(std::move(input), at); });
  SampleInputs::Get(std::move(parts), std::move(samples),
                    [on_input](std::size_t, SampleInput input) { on_input(std::move(input)); });
}

void CacheFill::OnInput(SampleInput input, const CompiledPlan::Location& at) {
  if (input.found.pin || !input.bytes) return OnDone(Outcome::kThere, 0);
  const std::uint64_t bytes_read = input.bytes->bytes_read;
  if (!input.bytes->status.ok()) return OnDone(Outcome::kFailed, bytes_read);
  auto on_made = OnReactor(
      environment_.reactor, weak_from_this(),
      [bytes_read](CacheFill& fill, Outcome outcome) { fill.OnDone(outcome, bytes_read); });
  environment_.queue.Push(attachment_.job(), attachment_.session(),
                          std::make_shared<Sample>(environment_, plan_, attachment_.cache(), Kept(),
                                                   at, std::move(input), std::move(on_made)));
}

void CacheFill::OnDone(Outcome outcome, std::uint64_t bytes_read) {
  --open_;
  allowance_ -= static_cast<double>(bytes_read);
  if (outcome == Outcome::kRefused && ++refused_ > kMostRefused) {
    refused_ = 1;
    rests_until_ = environment_.reactor.clock().Now() + kRest;
  }
  Pump();
}

void CacheFill::PumpAfter(Duration delay) {
  StopTimer();
  timer_ = environment_.reactor.AddOnce(delay, [this] {
    timer_ = 0;
    Pump();
  });
}

void CacheFill::StopTimer() {
  if (timer_ != 0) environment_.reactor.CancelTimer(timer_);
  timer_ = 0;
}

}  // namespace headrace::dataworker
