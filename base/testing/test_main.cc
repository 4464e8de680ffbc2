// main() of the test programs that have none of their own.
#include "base/testing/hang_watch.h"
#include "gmock/gmock.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  headrace::testing::HangWatch::Begin();
  return RUN_ALL_TESTS();
}
