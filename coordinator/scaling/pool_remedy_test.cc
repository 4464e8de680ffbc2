#include "coordinator/scaling/pool_remedy.h"

#include <gtest/gtest.h>

#include <set>

namespace headrace::coordinator {
namespace {

TEST(PoolRemedy, EachKindOfTroubleHasItsWordsAndItsSentence) {
  std::set<std::string_view> texts, remedies;
  for (const Detail kind :
       {Detail::kQuota, Detail::kForbidden, Detail::kNoImage, Detail::kNoPlace,
        Detail::kUnreachable, Detail::kNoRoom, Detail::kWorkersFail, Detail::kNone}) {
    EXPECT_TRUE(texts.insert(TroubleText(kind)).second) << DetailName(kind);
    EXPECT_TRUE(remedies.insert(GeneralRemedy(kind)).second) << DetailName(kind);
  }
  EXPECT_EQ(TroubleText(Detail::kUnknown), TroubleText(Detail::kNone));
}

}  // namespace
}  // namespace headrace::coordinator
