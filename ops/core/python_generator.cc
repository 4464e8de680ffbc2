#include "ops/core/python_generator.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"

namespace headrace::ops {
namespace {

constexpr int kBits = 32;

// The words of a non-negative int, the least first, as random.seed gives them to init_by_array.
Mt19937 Seeded(std::uint64_t seed) {
  const std::uint32_t key[] = {static_cast<std::uint32_t>(seed),
                               static_cast<std::uint32_t>(seed >> kBits)};
  return Mt19937(std::span(key).first(key[1] == 0 ? 1 : 2));
}

// What follows the words in a state.
struct StateEnd {
  std::uint32_t next;
  std::uint32_t has_gauss;
  double gauss;
};
static_assert(sizeof(StateEnd) == 16);
static_assert(sizeof(Mt19937::Words) + sizeof(StateEnd) == PythonGenerator::kStateBytes);

}  // namespace

PythonGenerator::PythonGenerator(std::uint64_t seed) : engine_(Seeded(seed)) {}

std::uint32_t PythonGenerator::Next() {
  ++draws_;
  return engine_.Next();
}

double PythonGenerator::Random() {
  const std::uint32_t high = Next() >> 5;
  const std::uint32_t low = Next() >> 6;
  return (high * 67108864.0 + low) * (1.0 / 9007199254740992.0);
}

double PythonGenerator::Uniform(double low, double high) {
  const double part = (high - low) * Random();  // no fused operation in CPython's bytecode
  return low + part;
}

std::uint32_t PythonGenerator::Below(std::uint32_t n) {
  HR_CHECK(n >= 1);
  const int bits = std::bit_width(n);  // not of n - 1
  std::uint32_t drawn = 0;
  do {
    drawn = Next() >> (kBits - bits);
  } while (drawn >= n);
  return drawn;
}

void PythonGenerator::Shuffle(std::span<std::int64_t> out) {
  for (std::size_t i = out.size(); i-- > 1;) {
    std::swap(out[i], out[Below(static_cast<std::uint32_t>(i + 1))]);
  }
}

std::size_t PythonGenerator::Choose(std::span<const double> cumulative) {
  const double drawn = Random() * cumulative.back();
  const auto at = std::upper_bound(cumulative.begin(), cumulative.end() - 1, drawn);
  return static_cast<std::size_t>(at - cumulative.begin());
}

PythonGenerator PythonGenerator::At(std::uint64_t seed, std::uint64_t draws) {
  PythonGenerator generator(seed);
  generator.Discard(draws);
  return generator;
}

void PythonGenerator::Discard(std::uint64_t n) {
  draws_ += n;
  engine_.Discard(n);
}

Bytes PythonGenerator::State() const {
  Bytes bytes(kStateBytes);
  const Mt19937::Words& words = engine_.words();
  std::memcpy(bytes.data(), words.data(), sizeof(words));
  const StateEnd end{engine_.next(), has_gauss_, gauss_};
  std::memcpy(bytes.data() + sizeof(words), &end, sizeof(end));
  return bytes;
}

Status PythonGenerator::SetState(ByteSpan state) {
  if (state.size() != kStateBytes) {
    return InvalidArgument("the state of Python's generator has " + std::to_string(state.size()) +
                           " bytes, not " + std::to_string(kStateBytes));
  }
  Mt19937::Words words;
  std::memcpy(words.data(), state.data(), sizeof(words));
  StateEnd end{};
  std::memcpy(&end, state.data() + sizeof(words), sizeof(end));
  if (end.next > Mt19937::kWords || end.has_gauss > 1) {
    return InvalidArgument("the state of Python's generator has an impossible position");
  }
  engine_ = Mt19937(words, end.next);
  has_gauss_ = end.has_gauss;
  gauss_ = end.gauss;
  draws_ = 0;
  resumable_ = false;
  return Status::Ok();
}

}  // namespace headrace::ops
