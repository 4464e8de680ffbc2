#include "dataworker/session/native_runner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dataworker/session/batch_request.h"
#include "dataworker/session/describe_work.h"
#include "net/payload.h"

namespace headrace::dataworker {

void NativeRunner::Push(std::shared_ptr<Work> work, WorkQueue::Place place) {
  active_.insert(work);
  environment_.queue.Push(attachment_.job(), attachment_.session(), std::move(work), place);
}

void NativeRunner::Describe(wire::Describe request) {
  auto done = WhenDone([](NativeRunner& runner, const std::shared_ptr<DescribeWork>& work) {
    runner.active_.erase(work);
    runner.attachment_.Send(work->TakeAnswer());
  });
  Push(std::make_shared<DescribeWork>(plan_, environment_.reads, AskerOf(IterationId()),
                                      std::move(request), std::move(done)),
       WorkQueue::Place::kFront);
}

void NativeRunner::Submit(wire::BatchRequest request, SteadyTime received) {
  if (Status status = CheckRequest(*plan_, request); !status.ok()) {
    attachment_.Refuse(request, std::move(status));
    return;
  }
  if (!plan_->has_graph()) {
    Launch(std::move(request), received, {});
    return;
  }
  if (plan_->fixed_values()) {
    Launch(std::move(request), received, BatchValues(*plan_->fixed_values()));
  } else if (plan_->shapes_of_each()) {
    FindShapes(std::move(request), received);
  } else {
    FindShape(std::move(request), received);
  }
}

void NativeRunner::FindShape(wire::BatchRequest request, SteadyTime received) {
  auto done = WhenDone([received](NativeRunner& runner, const std::shared_ptr<ShapeWork>& work) {
    runner.OnShape(work, received);
  });
  const SourceReads::Asker asker = AskerOf(request.iteration);
  Push(std::make_shared<ShapeWork>(plan_, environment_.reads, asker, std::move(request),
                                   std::move(done)),
       WorkQueue::Place::kFront);
}

void NativeRunner::OnShape(const std::shared_ptr<ShapeWork>& work, SteadyTime received) {
  active_.erase(work);
  if (work->values() && !work->cancelled()) {
    if (plan_->shapes_of_each()) {  // and no sample's could be read a moment ago
      attachment_.Refuse(work->request(), Unavailable("the files of the batch are being changed"));
      return;
    }
    Launch(work->TakeRequest(), received, BatchValues(*work->values()));
    return;
  }
  wire::BatchDone answer = attachment_.AnswerTo(work->request());
  if (work->cancelled()) answer.status = Cancelled("the iteration was cancelled");
  if (answer.status.ok()) answer.failures = work->TakeFailures();
  attachment_.Send(std::move(answer));
}

void NativeRunner::FindShapes(wire::BatchRequest request, SteadyTime received) {
  if (!request.specs.empty()) {  // the trainer has drawn for them
    const std::vector<std::optional<TensorSpec>> specs = request.specs;
    LaunchEach(std::move(request), received, specs);
    return;
  }
  wire::Describe describe{.session = request.session, .keys = request.keys};
  const SourceReads::Asker asker = AskerOf(request.iteration);
  auto done = WhenDone([received, request = std::move(request)](
                           NativeRunner& runner, const std::shared_ptr<DescribeWork>& work) {
    runner.active_.erase(work);
    const wire::Described described = work->TakeAnswer();
    if (described.status.ok()) {
      runner.LaunchEach(request, received, described.specs);
    } else {
      runner.attachment_.Refuse(request, Cancelled("the iteration was cancelled"));
    }
  });
  Push(std::make_shared<DescribeWork>(plan_, environment_.reads, asker, std::move(describe),
                                      std::move(done)),
       WorkQueue::Place::kFront);
}

void NativeRunner::LaunchEach(wire::BatchRequest request, SteadyTime received,
                              std::span<const std::optional<TensorSpec>> specs) {
  std::vector<std::vector<TensorSpec>> each(specs.size());
  std::vector<std::int32_t> drawn;
  bool any = false;
  for (const std::int32_t position : PositionsOf(request)) {
    const auto at = static_cast<std::size_t>(position);
    if (!specs[at]) continue;  // it says itself why not, when it is made
    const Result<ops::Params> params = plan_->ParamsOf(request, at, *specs[at], drawn);
    if (!params.ok()) continue;
    Result<CompiledPlan::Shapes> shapes = plan_->ShapesOf(*specs[at], *params);
    if (!shapes.ok() || !std::ranges::all_of(shapes->values, &TensorSpec::known)) continue;
    each[at] = std::move(shapes->values);
    any = true;
  }
  if (any) {
    Launch(std::move(request), received, BatchValues(std::move(each)));
  } else {
    FindShape(std::move(request), received);
  }
}

void NativeRunner::Launch(wire::BatchRequest request, SteadyTime received, BatchValues values) {
  Result<BatchLayout> layout = plan_->Layout(request.keys.size(), std::move(values));
  if (!layout.ok()) {
    attachment_.Refuse(request, layout.status());
    return;
  }
  if (Status fits = Quotas::CheckHere(environment_.limits.quotas.batch_bytes, layout->bytes());
      !fits.ok()) {
    attachment_.Refuse(request, std::move(fits));
    return;
  }
  if (const std::uint64_t bytes = layout->bytes(); bytes > request.slot_bytes) {
    attachment_.Refuse(
        request,
        ResourceExhausted("the batch takes " + std::to_string(bytes) + " bytes, the slot has " +
                          std::to_string(request.slot_bytes))
            .WithDetail(Detail::kSlotTooSmall),
        bytes);
    return;
  }
  const KeptForm& kept = plan_->kept(environment_.ledger.FormOf(attachment_.job()));
  const bool before_tail =
      memory_.leaves() && kept.before_tail != nullptr && request.tail_node == plan_->graph().tail();
  if (before_tail) {
    // Smaller than the one above.
    layout = plan_->Layout(request.keys.size(), layout->values(), true);
  }
  Result<BatchMemory::Place> place = memory_.Take(request, layout->bytes());
  if (!place.ok()) {
    attachment_.Refuse(request, place.status());
    return;
  }
  BatchWork::Setup setup;
  setup.memory = place->memory;
  setup.hold = std::move(place->hold);
  setup.sends_memory = place->leaves;
  setup.plan = plan_;
  setup.prefix = kept.runner.get();
  setup.runner = before_tail ? kept.before_tail.get() : setup.prefix;
  setup.before_tail = before_tail;
  setup.cache = attachment_.cache();
  setup.cached_as = kept.as;
  setup.layout = std::move(layout).value();
  setup.clock = &environment_.reactor.clock();
  setup.pictures = &environment_.pictures;
  setup.received = received;
  setup.reads = environment_.reads;
  setup.asker = AskerOf(request.iteration);
  setup.first_ask = first_ask_;
  setup.request = std::move(request);
  // Closed: nobody waits for the batch.
  setup.resume =
      WhenDone([](NativeRunner& runner, std::shared_ptr<Work> rest, WorkQueue::Place at) {
        runner.environment_.queue.Push(runner.attachment_.job(), runner.attachment_.session(),
                                       std::move(rest), at);
      });
  auto done = WhenDone([](NativeRunner& runner, const std::shared_ptr<BatchWork>& work) {
    runner.OnBatchDone(work);
  });
  auto work = std::make_shared<BatchWork>(std::move(setup), std::move(done));
  if (work->units() == 0) {
    OnBatchDone(work);  // the trainer makes every sample itself
  } else if (plan_->has_graph() && plan_->waits()) {
    active_.insert(work);
    work->Begin();
  } else {
    Push(std::move(work), WorkQueue::Place::kBack);
  }
}

void NativeRunner::OnBatchDone(const std::shared_ptr<BatchWork>& work) {
  active_.erase(work);
  wire::BatchDone answer = work->TakeAnswer();
  std::vector<net::PayloadFrame> frames;
  if (answer.status.ok()) {
    environment_.CountSamples(attachment_.job(), static_cast<std::uint64_t>(work->units()));
    if (work->setup().sends_memory) {
      frames = net::SplitPayload(work->setup().memory, work->setup().hold);
    }
  }
  attachment_.Send(std::move(answer), std::move(frames));
}

void NativeRunner::Cancel(IterationId before) {
  const auto is_older = [before](const Work& work) {
    return work.iteration().valid() && work.iteration() < before;
  };
  for (const auto& work : active_) {
    if (is_older(*work)) work->Cancel();
  }
  environment_.queue.Cancel(attachment_.session(), is_older);
  environment_.reads->Drop(attachment_.session(), before);
}

void NativeRunner::Close() {
  closed_ = true;
  for (const auto& work : active_) work->Cancel();
  environment_.queue.Forget(attachment_.session());
  environment_.reads->Drop(attachment_.session());
  if (plan_) plan_->StopSources();  // what is open keeps the trainer's memory mapped
  active_.clear();
}

}  // namespace headrace::dataworker
