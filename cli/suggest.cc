#include "cli/suggest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace headrace::cli {
namespace {

// Changes of one letter, and exchanges of two neighbours, that make one of the other (Damerau, "optimal string
// alignment").
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> steps(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      std::size_t& here = steps[i][j];
      if (i == 0 || j == 0) {
        here = i + j;
        continue;
      }
      here = std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1,
                       steps[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        here = std::min(here, steps[i - 2][j - 2] + 1);
      }
    }
  }
  return steps[a.size()][b.size()];
}

}  // namespace

std::string Nearest(std::string_view word, std::span<const std::string> known) {
  std::string nearest;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  bool unique = false;
  for (const std::string& name : known) {
    const std::size_t distance =
        word.size() > 1 && name.starts_with(word) ? 0 : Distance(word, name);
    unique = distance < least || (unique && distance > least);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return unique ? nearest : "";
}

}  // namespace headrace::cli
