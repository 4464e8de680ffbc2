#include "trainer_client/draws/batch_draws.h"

#include <algorithm>

namespace headrace::client {

void BatchDraws::Clear() {
  next_ = 0;
  end_ = -1;
  resolved_.clear();
  start_.reset();
  asked_.reset();
}

void BatchDraws::Begin(const ops::Generators& generator, std::size_t samples,
                       std::size_t param_words) {
  start_ = generator;
  asked_.reset();
  samples_ = samples;
  words_ = param_words;
  params_.assign(samples * words_, 0);
  specs_.assign(samples, std::nullopt);
  values_.clear();
}

bool BatchDraws::Draw(const TensorSpec& spec, const DrawFunction& draw,
                      ops::Generators& generator) {
  specs_[next_] = spec;
  const Status drawn =
      draw(spec, generator, std::span(params_).subspan(next_ * words_, words_), &drawn_);
  if (!drawn.ok()) {
    specs_[next_].reset();
    generator = Before(static_cast<std::int32_t>(next_), draw);
    return false;
  }
  std::swap(values_, drawn_);
  ++next_;
  return true;
}

void BatchDraws::Resolve(const ops::Generators& after, bool failed) {
  const auto position = static_cast<std::int32_t>(next_);
  resolved_.push_back({position, after});
  next_ = failed ? samples_ : next_ + 1;
  if (failed) end_ = position;
}

ops::Generators BatchDraws::Before(std::int32_t position, const DrawFunction& draw) {
  const bool from_asked = asked_ && asked_->first <= position;
  ops::Generators generator = from_asked ? asked_->second : *start_;
  std::vector<std::int32_t> params(words_);
  std::vector<TensorSpec> values;
  for (std::int32_t i = from_asked ? asked_->first : 0; i < position; ++i) {
    if (const auto at = std::ranges::find(resolved_, i, &Resolved::position);
        at != resolved_.end()) {
      generator = at->after;
      continue;
    }
    // Draws as it was planned, whatever the sample is now. The draw succeeded before, so it
    // succeeds again.
    (void)draw(*specs_[static_cast<std::size_t>(i)], generator, params, &values);
  }
  asked_ = {position, generator};
  return generator;
}

}  // namespace headrace::client
