#include <string_view>

#include "dataworker/stage/confine/stage_process.h"
#include "gtest/gtest.h"

// The worker starts this program again for a process of a stage, as it would start `headrace`.
int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string_view(headrace::dataworker::kStageProcess)) {
    headrace::dataworker::StageProcessMain({argv + 2, argv + argc});
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
