#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdarg>
#include <string>
#include <thread>
#include <vector>

// As libcurl declares it; without its header, which deprecates it.
extern "C" int curl_msnprintf(char* text, std::size_t size, const char* format, ...);
extern "C" void curl_that_nobody_wrote();
extern "C" void headrace_of_a_missing_library();

namespace headrace {
namespace {

bool IsLoaded(const char* library) {
  void* const found = ::dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (found != nullptr) ::dlclose(found);
  return found != nullptr;
}

// Fourteen arguments: in registers of both kinds, and on the stack.
std::string Printed() {
  std::array<char, 200> text{};
  const int size = curl_msnprintf(text.data(), text.size(),
                                  "%d %.1f %s %.2f %d %d %.1f %.1f %.1f %.1f %.1f %.1f", 1, 2.5,
                                  "three", 4.25, 5, 6, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5);
  return {text.data(), static_cast<std::size_t>(size)};
}

constexpr char kPrinted[] = "1 2.5 three 4.25 5 6 7.5 8.5 9.5 10.5 11.5 12.5";

// First in the file: it may be loaded by others later.
TEST(LazyTest, TheFirstCallLoadsTheLibraryAndHasItsArguments) {
  ASSERT_FALSE(IsLoaded("libcurl.so.4"));
  EXPECT_EQ(Printed(), kPrinted);
  EXPECT_TRUE(IsLoaded("libcurl.so.4"));
  EXPECT_EQ(Printed(), kPrinted) << "and so has the second";
}

TEST(LazyTest, ThreadsThatComeFirstTogetherAllArrive) {
  std::array<std::string, 4> printed;
  {
    std::vector<std::jthread> threads;
    for (std::string& one : printed) threads.emplace_back([&one] { one = Printed(); });
  }
  for (const std::string& one : printed) EXPECT_EQ(one, kPrinted);
}

TEST(LazyDeathTest, ALibraryThatIsNowhereEndsTheProcessWithALine) {
  EXPECT_EXIT(headrace_of_a_missing_library(), testing::ExitedWithCode(127),
              "headrace: headrace_of_a_missing_library is wanted now: libnobody-has-it.so.1: "
              "cannot open shared object file");
}

TEST(LazyDeathTest, SoDoesAFunctionThatTheLibraryLacks) {
  EXPECT_EXIT(curl_that_nobody_wrote(), testing::ExitedWithCode(127),
              "headrace: curl_that_nobody_wrote is wanted now: .*undefined symbol");
}

}  // namespace
}  // namespace headrace
