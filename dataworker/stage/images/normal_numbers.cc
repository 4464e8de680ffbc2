#include "dataworker/stage/images/normal_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace headrace::images {
namespace {

constexpr std::size_t kWords = 624;
constexpr std::size_t kFar = 397;
constexpr std::size_t kPairs = 312;  // that are made at once

std::uint32_t TwistOf(std::uint32_t upper, std::uint32_t lower, std::uint32_t far) {
  const std::uint32_t y = (upper & 0x80000000U) | (lower & 0x7fffffffU);
  return far ^ (y >> 1) ^ ((0U - (y & 1U)) & 0x9908b0dfU);
}

void RefillWords(std::uint32_t* s) {
  for (std::size_t i = 0; i < kWords - kFar; ++i) s[i] = TwistOf(s[i], s[i + 1], s[i + kFar]);
  for (std::size_t i = kWords - kFar; i < kWords - 1; ++i) {
    s[i] = TwistOf(s[i], s[i + 1], s[i + kFar - kWords]);
  }
  s[kWords - 1] = TwistOf(s[kWords - 1], s[0], s[kFar - 1]);
}

// The next outputs.
void Give(const TwisterState& state, std::span<std::uint32_t> out) {
  std::size_t made = 0;
  while (made < out.size()) {
    if (state.next == kWords) {
      RefillWords(state.words.data());
      state.next = 0;
    }
    const std::size_t count = std::min(out.size() - made, kWords - state.next);
    const std::uint32_t* const from = state.words.data() + state.next;
    std::uint32_t* const to = out.data() + made;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t y = from[i];
      y ^= y >> 11;
      y ^= (y << 7) & 0x9d2c5680U;
      y ^= (y << 15) & 0xefc60000U;
      to[i] = y ^ (y >> 18);
    }
    made += count;
    state.next += static_cast<std::uint32_t>(count);
  }
}

// From -1 to 1, of 53 bits of two outputs.
double PlaceOf(std::uint32_t high, std::uint32_t low) {
  const auto a = static_cast<std::int32_t>(high >> 5), b = static_cast<std::int32_t>(low >> 6);
  return 2.0 * ((a * 67108864.0 + b) / 9007199254740992.0) - 1.0;
}

// Pairs that lie in the circle.
struct Places {
  std::array<double, kPairs> first, second, square;
};

// How many of `count` pairs lie there.
std::size_t Place(const TwisterState& state, std::size_t count, Places& places) {
  std::array<std::uint32_t, 4 * kPairs> words;
  Give(state, std::span(words).first(4 * count));
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = PlaceOf(words[4 * i], words[4 * i + 1]);
    const double y = PlaceOf(words[4 * i + 2], words[4 * i + 3]);
    const double square = x * x + y * y;
    places.first[found] = x;
    places.second[found] = y;
    places.square[found] = square;
    found += static_cast<std::size_t>(square < 1.0 && square != 0.0);  // without a branch: a guess
  }
  return found;
}

}  // namespace

void DrawNormals(const TwisterState& state, double mean, double deviation, std::span<double> out) {
  Places places;
  std::array<double, kPairs> factor;
  for (std::size_t made = 0; made < out.size();) {
    // Each pair that is drawn is used, or lies outside: never more than NumPy draws.
    const std::size_t found = Place(state, std::min((out.size() - made) / 2, kPairs), places);
    for (std::size_t i = 0; i < found; ++i) factor[i] = std::log(places.square[i]);
    for (std::size_t i = 0; i < found; ++i) {
      factor[i] = std::sqrt(-2.0 * factor[i] / places.square[i]);
    }
    double* const to = out.data() + made;
    for (std::size_t i = 0; i < found; ++i) {
      to[2 * i] = mean + deviation * (factor[i] * places.second[i]);
      to[2 * i + 1] = mean + deviation * (factor[i] * places.first[i]);
    }
    made += 2 * found;
  }
}

}  // namespace headrace::images
