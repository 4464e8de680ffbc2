#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "net/key_files_internal.h"

namespace headrace::net {
namespace {

constexpr uid_t kRoot = 0, kUser = 1000, kOther = 1001;

Status Judge(KeyPart part, mode_t mode, uid_t owner) {
  const mode_t type = part == KeyPart::kDirectory ? S_IFDIR : S_IFREG;
  return JudgeKeyPart(part, "/keys/x", type | mode, owner, kUser);
}

TEST(KeyFiles, WhatOthersCanNeitherReadNorChangePasses) {
  for (const mode_t mode : {0700, 0500, 0755, 01777, 01770}) {
    EXPECT_TRUE(Judge(KeyPart::kDirectory, mode, kUser).ok()) << mode;
    EXPECT_TRUE(Judge(KeyPart::kDirectory, mode, kRoot).ok()) << mode;  // of a mounted secret
  }
  EXPECT_TRUE(Judge(KeyPart::kSecret, 0600, kUser).ok());
  EXPECT_TRUE(Judge(KeyPart::kSecret, 0400, kRoot).ok());
  EXPECT_TRUE(Judge(KeyPart::kSecret, 0440, kRoot).ok());  // the group of a pod
  EXPECT_TRUE(Judge(KeyPart::kAllow, 0644, kUser).ok());
  EXPECT_TRUE(Judge(KeyPart::kAllow, 0444, kRoot).ok());
}

TEST(KeyFiles, WhatOthersCanReadOrChangeIsRefusedWithTheRemedy) {
  const auto refused = [](KeyPart part, mode_t mode, uid_t owner, const char* remedy) {
    const Status status = Judge(part, mode, owner);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << mode;
    EXPECT_THAT(status.message(),
                testing::AllOf(testing::HasSubstr("/keys/x"), testing::HasSubstr(remedy)));
  };
  for (const uid_t owner : {kRoot, kUser}) {
    for (const mode_t mode : {0770, 0722, 0777}) {
      refused(KeyPart::kDirectory, mode, owner, "chmod 700");
    }
    for (const mode_t mode : {0604, 0620, 0602, 0644}) {
      refused(KeyPart::kSecret, mode, owner, "chmod 600");
    }
    for (const mode_t mode : {0664, 0646, 0620}) {
      refused(KeyPart::kAllow, mode, owner, "chmod 600");
    }
  }
  refused(KeyPart::kSecret, 0640, kUser, "chmod 600");
  for (const KeyPart part : {KeyPart::kDirectory, KeyPart::kSecret, KeyPart::kAllow}) {
    refused(part, part == KeyPart::kDirectory ? 0700 : 0600, kOther, "chown");
  }
  EXPECT_FALSE(JudgeKeyPart(KeyPart::kSecret, "x", S_IFIFO | 0600, kUser, kUser).ok());
  EXPECT_FALSE(JudgeKeyPart(KeyPart::kDirectory, "x", S_IFREG | 0600, kUser, kUser).ok());
}

}  // namespace
}  // namespace headrace::net
