#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

// Random draws of tests. Each test prints its seed, and HEADRACE_TEST_SEED repeats a run.
namespace headrace::test_draws {

using Random = std::mt19937;

// HEADRACE_TEST_SEED, or `usual` where it is not set.
inline unsigned SeedOr(unsigned usual) {
  const char* given = std::getenv("HEADRACE_TEST_SEED");
  return given == nullptr ? usual : static_cast<unsigned>(std::strtoul(given, nullptr, 10));
}

// low..high, both ends included.
inline std::int64_t Between(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

template <typename T>
T OneOf(Random& random, const std::vector<T>& values) {
  return values[static_cast<std::size_t>(
      Between(random, 0, static_cast<std::int64_t>(values.size()) - 1))];
}

}  // namespace headrace::test_draws
