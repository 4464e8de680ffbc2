#include <string_view>

#include "base/testing/hang_watch.h"
#include "dataworker/stage/confine/stage_process.h"
#include "gtest/gtest.h"

// The worker starts this program again for a process of a stage, as it would start `headrace`.
int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string_view(headrace::dataworker::kStageProcess)) {
    headrace::dataworker::StageProcessMain({argv + 2, argv + argc});
  }
  ::testing::InitGoogleTest(&argc, argv);
  headrace::testing::HangWatch::Begin();
  return RUN_ALL_TESTS();
}
