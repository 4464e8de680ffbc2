// Ends a test program that hangs, and says where.
#pragma once

#include <chrono>

namespace headrace::testing {

/// The clock of a test program. When a test runs out of time, it writes the test's name and the stacks of
/// all threads to standard error, and ends the program with the exit code kHung. It needs no thread of its
/// own and takes no lock, so a test that holds any lock is told too.
///
/// Process-wide, from the main thread. A fork has no such clock.
class HangWatch {
 public:
  static constexpr int kHung = 99;
  /// Each test has as long. HEADRACE_TEST_LIMIT_S says another number of seconds, and then the
  /// program has no limit of its own; 0: no limit at all, as under a debugger.
  static constexpr std::chrono::seconds kPerTest{240};
  /// All tests of an iteration together: less than ctest's TIMEOUT (cmake/HeadraceComponent.cmake).
  static constexpr std::chrono::seconds kProgram{380};

  /// Follows the tests of GoogleTest. Call it before RUN_ALL_TESTS().
  static void Begin();
  /// `name` runs from now on, and may take until `limit` is over. Zero: it may take for ever.
  static void Arm(const char* name, std::chrono::nanoseconds limit);
};

}  // namespace headrace::testing
