#include "ops/core/kept_twister.h"

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

namespace headrace::ops {
namespace {

// What follows the words in a state.
struct StateEnd {
  std::uint32_t next;
  std::uint32_t has_gauss;
  double gauss;
};
static_assert(sizeof(StateEnd) == 16);
static_assert(sizeof(Mt19937::Words) + sizeof(StateEnd) == KeptTwister::kStateBytes);

constexpr int kCountBits = 48;
constexpr std::uint64_t kMostKept = (std::uint64_t{1} << 15) - 2;  // a position is an int64
constexpr std::uint64_t kOutputsOfGauss = 4;  // two numbers of two outputs each
constexpr double kTwoPi = 2.0 * 3.141592653589793;

// Of two calls with one argument a compiler makes one of sincos, which CPython does not call.
[[gnu::noinline]] double CosOf(double x) { return std::cos(x); }
[[gnu::noinline]] double SinOf(double x) { return std::sin(x); }

}  // namespace

std::uint32_t KeptTwister::Next() {
  ++draws_;
  return engine_.Next();
}

double KeptTwister::Random() {
  const std::uint32_t high = Next() >> 5;
  const std::uint32_t low = Next() >> 6;
  return (high * 67108864.0 + low) * (1.0 / 9007199254740992.0);
}

double KeptTwister::Gauss(double mean, double sigma) {
  double normal = gauss_;
  if (std::exchange(has_gauss_, 0U) == 0) {
    const double angle = Random() * kTwoPi;
    const double radius = std::sqrt(-2.0 * std::log(1.0 - Random()));
    normal = CosOf(angle) * radius;
    gauss_ = SinOf(angle) * radius;
    has_gauss_ = 1;
    gauss_at_ = draws_;
  } else {
    gauss_ = 0;
  }
  const double part = normal * sigma;  // no fused operation in CPython's bytecode
  return mean + part;
}

std::uint64_t KeptTwister::position() const {
  return has_gauss_ != 0 ? draws_ | (draws_ - gauss_at_ + 1) << kCountBits : draws_;
}

bool KeptTwister::resumable() const {
  return resumable_ && (has_gauss_ == 0 || draws_ - gauss_at_ <= kMostKept);
}

void KeptTwister::MoveTo(std::uint64_t position) {
  const std::uint64_t draws = position & ((std::uint64_t{1} << kCountBits) - 1);
  const std::uint64_t since = position >> kCountBits;
  if (since == 0 || since - 1 + kOutputsOfGauss > draws) return Discard(draws);
  Discard(draws - (since - 1) - kOutputsOfGauss);
  (void)Gauss(0, 1);
  Discard(since - 1);
}

bool KeptTwister::KeepAs(const KeptTwister& other, const KeptTwister& before) {
  constexpr std::uint64_t kMostTried = 256;
  if (engine_.next() != other.engine_.next() || engine_.words() != other.engine_.words()) {
    return false;
  }
  if (other.has_gauss_ == 0) {
    has_gauss_ = 0;
    gauss_ = 0;
    return true;
  }
  if (has_gauss_ != 0 && gauss_ == other.gauss_) return true;  // from before
  const std::uint64_t drawn = draws_ - before.draws_;
  for (std::uint64_t since = 0; since < kMostTried && since + kOutputsOfGauss <= drawn; ++since) {
    KeptTwister trial = before;
    trial.Discard(drawn - since - kOutputsOfGauss);
    trial.has_gauss_ = 0;
    (void)trial.Gauss(0, 1);
    if (trial.gauss_ != other.gauss_) continue;
    has_gauss_ = 1;
    gauss_ = other.gauss_;
    gauss_at_ = draws_ - since;
    return true;
  }
  return false;
}

void KeptTwister::Discard(std::uint64_t n) {
  draws_ += n;
  engine_.Discard(n);
}

Bytes KeptTwister::State() const {
  Bytes bytes(kStateBytes);
  const Mt19937::Words& words = engine_.words();
  std::memcpy(bytes.data(), words.data(), sizeof(words));
  const StateEnd end{engine_.next(), has_gauss_, gauss_};
  std::memcpy(bytes.data() + sizeof(words), &end, sizeof(end));
  return bytes;
}

Status KeptTwister::SetState(ByteSpan state) {
  if (state.size() != kStateBytes) {
    return InvalidArgument("the state of a generator has " + std::to_string(state.size()) +
                           " bytes, not " + std::to_string(kStateBytes));
  }
  Mt19937::Words words;
  std::memcpy(words.data(), state.data(), sizeof(words));
  StateEnd end{};
  std::memcpy(&end, state.data() + sizeof(words), sizeof(end));
  if (end.next > Mt19937::kWords || end.has_gauss > 1) {
    return InvalidArgument("the state of a generator has an impossible position");
  }
  engine_ = Mt19937(words, end.next);
  has_gauss_ = end.has_gauss;
  gauss_ = end.gauss;
  gauss_at_ = 0;
  draws_ = 0;
  resumable_ = false;
  return Status::Ok();
}

}  // namespace headrace::ops
