#include "ops/torch/torch_generator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>

#include "base/check.h"
#include "ops/torch/mt19937_jump.h"

namespace headrace::ops {
namespace {

// torch.randint uses 64 bits from this range on. Source: ATen DistributionTemplates.h.
constexpr std::uint64_t kWideRange = std::uint64_t{1} << 28;
// torch.randperm uses 64 bits from this length on. Source: ATen TensorFactories.cpp.
constexpr std::size_t kWidePermutation = 0xffffffffU / 20;

// The head of CPUGeneratorImplStateLegacy. Mt19937::kWords words of 64 bits and the normal samples
// follow it.
struct StateHead {
  std::uint64_t seed;
  std::int32_t left;
  std::int32_t seeded;
  std::uint64_t next;
};
static_assert(sizeof(StateHead) == 24);
constexpr std::size_t kWordsEnd = sizeof(StateHead) + Mt19937::kWords * sizeof(std::uint64_t);

// The legacy state's end, of which only y and is_valid are used.
struct StateNormal {
  double x;
  double y;
  double rho;
  std::int64_t is_valid;  // an int and its padding
};
static_assert(sizeof(StateNormal) == 32);
constexpr std::size_t kFloatNormalBegin = kWordsEnd + sizeof(StateNormal);

// A position: draws, and how long ago a normal number was kept, plus one.
constexpr int kDrawBits = 48;
constexpr std::uint64_t kMostSince = (1U << 15) - 2;
constexpr std::uint64_t kOutputsOfPair = 4;

}  // namespace

TorchGenerator::TorchGenerator(std::uint64_t seed)
    : engine_(static_cast<std::uint32_t>(seed)), seed_(seed) {}

std::uint32_t TorchGenerator::Next() {
  ++draws_;
  fresh_ = false;
  return engine_.Next();
}

float TorchGenerator::Uniform(float low, float high, Rounding rounding) {
  const float unit = static_cast<float>(Next() & 0xffffffU) * 0x1p-24F;
  const float width = high - low;
  const float value =
      rounding == Rounding::kFused ? std::fma(unit, width, low) : unit * width + low;
  return value == high ? low : value;  // torch excludes the upper bound, if rounding reaches it
}

std::int64_t TorchGenerator::RandInt(std::int64_t low, std::int64_t high) {
  HR_CHECK(low < high);
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  std::uint64_t value = Next();
  if (range >= kWideRange) value = value << 32 | Next();
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + value % range);
}

void TorchGenerator::RandPerm(std::span<std::int64_t> out) {
  const std::size_t n = out.size();
  std::iota(out.begin(), out.end(), 0);
  for (std::size_t i = 0; i + 1 < n; ++i) {
    std::uint64_t value = Next();
    if (n >= kWidePermutation) value = value << 32 | Next();
    std::swap(out[i], out[i + value % (n - i)]);
  }
}

double TorchGenerator::UniformDouble() {
  const std::uint64_t high = Next();
  const std::uint64_t bits = high << 32 | Next();
  return static_cast<double>(bits & ((std::uint64_t{1} << 53) - 1)) * 0x1p-53;
}

double TorchGenerator::Normal() {
  if (normal_) return *std::exchange(normal_, std::nullopt);
  const double u1 = UniformDouble();
  const double u2 = UniformDouble();
  const double radius = std::sqrt(-2.0 * std::log1p(-u2));
  const double theta = 2.0 * std::numbers::pi * u1;
  normal_ = radius * std::sin(theta);
  normal_at_ = draws_;
  return radius * std::cos(theta);
}

double TorchGenerator::Gamma(double alpha) {
  double scale = 1;
  if (alpha < 1) {
    scale *= std::pow(1 - UniformDouble(), 1 / alpha);
    alpha += 1;
  }
  // The source's constants are float32.
  const double d = alpha - static_cast<double>(1.0F / 3.0F);
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    double x = 0;
    double y = 0;
    do {
      x = Normal();
      y = 1 + c * x;
    } while (y <= 0);
    const double v = y * y * y;
    const double u = 1 - UniformDouble();
    const double xx = x * x;
    if (u < 1 - static_cast<double>(0.0331F) * xx * xx) return scale * d * v;
    if (std::log(u) < 0.5 * xx + d * (1 - v + std::log(v))) return scale * d * v;
  }
}

void TorchGenerator::Dirichlet(float alpha, std::span<float> out) {
  HR_CHECK(alpha > 0 && out.size() <= kMostWeights);
  std::array<double, kMostWeights> gamma{};
  double sum = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    gamma[i] = std::max(std::numeric_limits<double>::min(), Gamma(alpha));
    sum += gamma[i];
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto weight = static_cast<float>(gamma[i] / sum);
    out[i] = std::clamp(weight, std::numeric_limits<float>::min(), std::nextafter(1.0F, 0.0F));
  }
}

std::uint64_t TorchGenerator::position() const {
  return normal_ ? draws_ | (draws_ - normal_at_ + 1) << kDrawBits : draws_;
}

bool TorchGenerator::resumable() const {
  return resumable_ && (!normal_ || draws_ - normal_at_ <= kMostSince);
}

TorchGenerator TorchGenerator::At(std::uint64_t seed, std::uint64_t position) {
  TorchGenerator generator(seed);
  const std::uint64_t draws = position & ((std::uint64_t{1} << kDrawBits) - 1);
  const std::uint64_t since = position >> kDrawBits;
  if (since == 0 || since - 1 + kOutputsOfPair > draws) {
    generator.Discard(draws);
    return generator;
  }
  generator.Discard(draws - (since - 1) - kOutputsOfPair);
  (void)generator.Normal();
  generator.Discard(since - 1);
  return generator;
}

void TorchGenerator::Discard(std::uint64_t n) {
  draws_ += n;
  fresh_ = fresh_ && n == 0;
  n < kWorthAJump ? engine_.Discard(n) : Jump(engine_, n);
}

Bytes TorchGenerator::TorchState() const {
  Bytes bytes(kTorchStateBytes);
  const std::uint32_t next = engine_.next();
  const StateHead head{seed_, fresh_ ? 1 : static_cast<std::int32_t>(Mt19937::kWords + 1 - next), 1,
                       fresh_ ? 0 : next};
  std::memcpy(bytes.data(), &head, sizeof(head));
  for (std::uint32_t i = 0; i < Mt19937::kWords; ++i) {
    const std::uint64_t word = engine_.words()[i];
    std::memcpy(bytes.data() + sizeof(head) + i * sizeof(word), &word, sizeof(word));
  }
  const StateNormal normal{0, normal_.value_or(0), 0, normal_ ? 1 : 0};
  std::memcpy(bytes.data() + kWordsEnd, &normal, sizeof(normal));
  std::memcpy(bytes.data() + kFloatNormalBegin, float_normal_.data(), kFloatNormalBytes);
  return bytes;
}

Status TorchGenerator::SetTorchState(ByteSpan state) {
  static_assert(kFloatNormalBegin + kFloatNormalBytes == kTorchStateBytes);
  if (state.size() != kTorchStateBytes) {
    return InvalidArgument("torch generator state has " + std::to_string(state.size()) +
                           " bytes, not " + std::to_string(kTorchStateBytes));
  }
  StateHead head;
  std::memcpy(&head, state.data(), sizeof(head));
  const bool fresh = head.left == 1 && head.next == 0;
  const bool used = head.next >= 1 && head.next <= Mt19937::kWords &&
                    head.left == static_cast<std::int32_t>(Mt19937::kWords + 1 - head.next);
  if (head.seeded != 1 || (!fresh && !used)) {
    return InvalidArgument("torch generator state has an impossible position: left " +
                           std::to_string(head.left) + ", next " + std::to_string(head.next));
  }
  Mt19937::Words words;
  for (std::uint32_t i = 0; i < Mt19937::kWords; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, state.data() + sizeof(head) + i * sizeof(word), sizeof(word));
    words[i] = static_cast<std::uint32_t>(word);
  }
  engine_ = Mt19937(words, fresh ? Mt19937::kWords : static_cast<std::uint32_t>(head.next));
  StateNormal normal;
  std::memcpy(&normal, state.data() + kWordsEnd, sizeof(normal));
  normal_ =
      static_cast<std::int32_t>(normal.is_valid) != 0 ? std::optional(normal.y) : std::nullopt;
  normal_at_ = 0;
  std::memcpy(float_normal_.data(), state.data() + kFloatNormalBegin, kFloatNormalBytes);
  seed_ = head.seed;
  fresh_ = fresh;
  draws_ = 0;
  resumable_ = false;
  return Status::Ok();
}

}  // namespace headrace::ops
