#include "dataworker/stage/confine/stage_variables.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

const std::vector<std::string> kNoOthers;

TEST(StageVariables, ThoseThatSayHowAProcessWorksAreKept) {
  for (const char* name : {"PATH", "HOME", "LC_ALL", "LANG", "TZ", "LD_LIBRARY_PATH", "PYTHONPATH",
                           "PYTHONHASHSEED", "OMP_NUM_THREADS", "MKL_CBWR", "OPENBLAS_CORETYPE",
                           "TORCH_HOME", "CUDA_VISIBLE_DEVICES", "HF_HOME", "HEADRACE_PYTHON"}) {
    EXPECT_TRUE(IsVariableOfStages(name, kNoOthers)) << name;
  }
}

TEST(StageVariables, AllOthersMayBeSecrets) {
  for (const char* name :
       {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
        "AWS_WEB_IDENTITY_TOKEN_FILE", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY",
        "DATABASE_URL", "GITHUB_TOKEN", "PATHS", "LD_AUDIT", "SSH_AUTH_SOCK", ""}) {
    EXPECT_FALSE(IsVariableOfStages(name, kNoOthers)) << name;
  }
}

TEST(StageVariables, AnOperatorNamesMore) {
  const std::vector<std::string> also = {"LICENCE_SERVER", "AWS_*"};
  EXPECT_TRUE(IsVariableOfStages("LICENCE_SERVER", also));
  EXPECT_TRUE(IsVariableOfStages("AWS_REGION", also));
  EXPECT_FALSE(IsVariableOfStages("LICENCE_SERVER_KEY", also));
  EXPECT_FALSE(IsVariableOfStages("XAWS_REGION", also));
  EXPECT_TRUE(IsVariableOfStages("ANY", std::vector<std::string>{"*"}));
}

}  // namespace
}  // namespace headrace::dataworker
