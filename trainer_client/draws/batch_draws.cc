#include "trainer_client/draws/batch_draws.h"

#include <algorithm>

#include "schemas/wire/data.h"

namespace headrace::client {
namespace {

constexpr std::size_t kSizeWords = wire::BatchRequest::kSizeWords;

// The size for which it was drawn.
ops::ImageSpec SpecOf(std::span<const std::int32_t> words) {
  ops::ImageSpec spec;
  spec.height = words[0];
  spec.width = words[1];
  spec.channels = words[2];
  return spec;
}

}  // namespace

void BatchDraws::Clear() {
  next_ = 0;
  end_ = -1;
  resolved_.clear();
  start_.reset();
}

void BatchDraws::Begin(const ops::TorchGenerator& generator, std::size_t samples,
                       std::size_t param_words) {
  start_ = generator;
  samples_ = samples;
  words_ = param_words;
  params_.assign(samples * words_, 0);
  sizes_.assign(samples * kSizeWords, 0);
}

std::span<std::int32_t> BatchDraws::SizeOf(std::size_t position) {
  return std::span(sizes_).subspan(position * kSizeWords, kSizeWords);
}

bool BatchDraws::Draw(const ops::ImageSpec& spec, const DrawFunction& draw,
                      ops::TorchGenerator& generator) {
  const std::span<std::int32_t> size = SizeOf(next_);
  size[0] = static_cast<std::int32_t>(spec.height);
  size[1] = static_cast<std::int32_t>(spec.width);
  size[2] = spec.channels;
  const Status drawn =
      draw(spec, generator, std::span(params_).subspan(next_ * words_, words_), &output_);
  if (!drawn.ok()) {
    std::ranges::fill(size, 0);
    generator = Before(static_cast<std::int32_t>(next_), draw);
    return false;
  }
  ++next_;
  return true;
}

void BatchDraws::Resolve(const ops::TorchGenerator& after, bool failed) {
  const auto position = static_cast<std::int32_t>(next_);
  resolved_.push_back({position, after});
  next_ = failed ? samples_ : next_ + 1;
  if (failed) end_ = position;
}

ops::TorchGenerator BatchDraws::Before(std::int32_t position, const DrawFunction& draw) const {
  ops::TorchGenerator generator = *start_;
  std::vector<std::int32_t> params(words_);
  ops::ImageSpec output;
  for (std::int32_t i = 0; i < position; ++i) {
    if (const auto at = std::ranges::find(resolved_, i, &Resolved::position);
        at != resolved_.end()) {
      generator = at->after;
      continue;
    }
    // Draws as it was planned, whatever size the image has now. The draw succeeded before, so it
    // succeeds again.
    const auto size =
        std::span(sizes_).subspan(static_cast<std::size_t>(i) * kSizeWords, kSizeWords);
    (void)draw(SpecOf(size), generator, params, &output);
  }
  return generator;
}

}  // namespace headrace::client
