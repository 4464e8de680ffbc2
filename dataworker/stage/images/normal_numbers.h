#pragma once

#include <cstdint>
#include <span>

namespace headrace::images {

// MT19937 in NumPy's memory: its words, and the next one's number.
struct TwisterState {
  std::span<std::uint32_t, 624> words;
  std::uint32_t& next;  // up to 624, when all words are given
};

// Fills `out` with numbers of NumPy's legacy generator, as RandomState.normal(mean, deviation) does that keeps no
// number: each operation in NumPy's order, in double, with the C library's log. Many at once: the words and the
// polar coordinates of some hundred pairs, then the logarithms of those that lie in the circle. REQUIRES: an even
// number of them; state.next <= 624. Source: numpy/random/src/legacy/legacy-distributions.c, legacy_gauss.
// Thread-compatible.
void DrawNormals(const TwisterState& state, double mean, double deviation, std::span<double> out);

}  // namespace headrace::images
