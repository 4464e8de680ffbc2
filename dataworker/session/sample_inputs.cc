#include "dataworker/session/sample_inputs.h"

#include <algorithm>
#include <map>
#include <utility>

namespace headrace::dataworker {

SampleInputs::SampleInputs(Parts parts, std::vector<Sample> samples, OnInput on_input)
    : parts_(std::move(parts)),
      on_input_(std::move(on_input)),
      begin_(parts_.clock->Now()),
      samples_(std::move(samples)) {}

void SampleInputs::Get(Parts parts, std::vector<Sample> samples, OnInput on_input) {
  const std::shared_ptr<SampleInputs> inputs(
      new SampleInputs(std::move(parts), std::move(samples), std::move(on_input)));
  inputs->Start();
}

void SampleInputs::Start() {
  std::vector<std::size_t> unknown, known, bytes_first;
  ScratchBuffer unused;
  const bool nothing_cached = parts_.cache != nullptr && parts_.cache->HasNothing();
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    Sample& sample = samples_[i];
    const bool cached = parts_.cache != nullptr && sample.source->cacheable();
    if (!cached || sample.input.asked) {
      needed_.push_back(i);
      continue;
    }
    // One that is still believed. Other sources could look at their device here.
    std::optional<RowAnswer> identity;
    if (sample.source->waits()) identity = sample.source->Now(Ask::kIdentity, sample.row, unused);
    if (!identity) {
      sample.is_new = parts_.first_ask != nullptr && sample.source->is_far_and_new(sample.row);
      const bool bytes = (nothing_cached && sample.source->is_far()) ||
                         (sample.is_new && parts_.first_ask->BytesFirst());
      (bytes ? bytes_first : unknown).push_back(i);
    } else {
      sample.input.bytes = std::move(identity);
      known.push_back(i);
    }
  }
  unsettled_ = unknown.size() + known.size() + 1;
  for (const std::size_t i : known) {
    OnIdentity(samples_[i], *std::exchange(samples_[i].input.bytes, std::nullopt));
  }
  Fetch(Ask::kBytes, std::move(bytes_first), &SampleInputs::OnFirstBytes);
  Fetch(Ask::kIdentity, std::move(unknown), &SampleInputs::OnIdentity);
  Settle(std::nullopt);
}

void SampleInputs::Fetch(Ask ask, std::vector<std::size_t> which,
                         void (SampleInputs::*then)(Sample&, RowAnswer)) {
  struct Rows {
    std::shared_ptr<Source> source;
    std::vector<std::size_t> which;
    std::vector<std::int64_t> rows;
  };
  std::map<const Source*, Rows> calls;
  // Neighbours side by side, whatever the order of the batch or of the answers.
  std::ranges::sort(which, {}, [this](std::size_t i) { return samples_[i].row; });
  for (const std::size_t i : which) {
    const Sample& sample = samples_[i];
    Rows& call = calls[sample.source.get()];
    call.source = sample.source;
    call.which.push_back(i);
    call.rows.push_back(sample.row);
  }
  for (auto& [key, call] : calls) {
    parts_.reads->Fetch(parts_.asker, ask, call.source, call.rows,
                        [self = shared_from_this(), of = std::move(call.which), then](
                            std::size_t index, RowAnswer answer) {
                          ((*self).*then)(self->samples_[of[index]], std::move(answer));
                        });
  }
}

void SampleInputs::OnIdentity(Sample& sample, RowAnswer answer) {
  if (!answer.status.ok()) {
    sample.input.bytes = std::move(answer);
    Tell(sample);
    Settle(std::nullopt);
    return;
  }
  sample.input.key = {answer.sample.content, parts_.form};
  sample.input.asked = true;
  LookUp(sample);
}

void SampleInputs::OnFirstBytes(Sample& sample, RowAnswer answer) {
  const bool ok = answer.status.ok();
  if (ok) sample.input.key = {answer.sample.content, parts_.form};
  sample.input.bytes = std::move(answer);
  sample.input.asked = ok;
  if (ok) {
    LookUp(sample);
  } else {
    Tell(sample);
  }
}

void SampleInputs::LookUp(Sample& sample) {
  const auto at = static_cast<std::size_t>(&sample - samples_.data());
  CacheLookup found = parts_.cache->Find(sample.input.key);
  if (!found.later) {
    OnFound(sample, std::move(found));
    return;
  }
  parts_.cache->FindLater(sample.input.key, found,
                          [self = shared_from_this(), at](CacheLookup later) {
                            self->OnFound(self->samples_[at], std::move(later));
                          });
}

void SampleInputs::OnFound(Sample& sample, CacheLookup found) {
  const bool hit = static_cast<bool>(found.pin);
  if (sample.is_new) parts_.first_ask->Note(hit);
  sample.input.found = std::move(found);
  const bool counts = !sample.input.bytes;  // among those that are not settled
  if (hit) sample.input.bytes.reset();
  if (!hit && counts) {
    Settle(static_cast<std::size_t>(&sample - samples_.data()));
    return;
  }
  Tell(sample);
  if (counts) Settle(std::nullopt);
}

void SampleInputs::Settle(std::optional<std::size_t> needs_bytes) {
  std::vector<std::size_t> ask;
  {
    const std::lock_guard lock(mutex_);
    if (needs_bytes) needed_.push_back(*needs_bytes);
    --unsettled_;
    if (unsettled_ == 0 || needed_.size() >= kTogether) ask.swap(needed_);
  }
  Fetch(Ask::kBytes, std::move(ask), &SampleInputs::OnBytes);
}

void SampleInputs::OnBytes(Sample& sample, RowAnswer answer) {
  sample.input.bytes = std::move(answer);
  Tell(sample);
}

void SampleInputs::Tell(Sample& sample) {
  sample.input.waited = parts_.clock->Now() - begin_;
  on_input_(sample.index, std::exchange(sample.input, SampleInput()));
}

}  // namespace headrace::dataworker
