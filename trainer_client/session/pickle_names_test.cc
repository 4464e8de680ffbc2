#include "trainer_client/session/pickle_names.h"

#include <string>
#include <string_view>
#include <vector>

#include "base/test_draws.h"
#include "gtest/gtest.h"
#include "trainer_client/session/test_pickles.h"

namespace headrace::client {
namespace {

using std::string_literals::operator""s;
using Use = NameUse::Kind;

Result<std::set<NameUse>> Names(std::string_view content, std::size_t buffers = 0) {
  return NamesInPickle(PickleBytes(content), buffers);
}

void ExpectRefused(std::string_view content, std::string_view why, Code code = Code::kDataLoss) {
  const auto names = Names(content);
  ASSERT_FALSE(names.ok()) << why;
  EXPECT_EQ(names.status().code(), code);
  EXPECT_NE(names.status().message().find(why), std::string::npos) << names.status().message();
}

void ExpectTooMuch(std::string_view content, std::string_view why) {
  ExpectRefused(content, why, Code::kResourceExhausted);
}

// What all Python's pickles look like is tested with Python's pickler (tests/python/test_answers.py).
TEST(PickleNames, EachUseOfANameIsFound) {
  // m.A, then m.B made without __init__, with an item, an entry and a state.
  const auto names =
      Names("(" + NameOps("m", "A") + NameOps("m", "B") + ")\x81" + "Na" + "NNs" + "Nb" + "t");
  ASSERT_TRUE(names.ok()) << names.status().ToString();
  EXPECT_EQ(*names, (std::set<NameUse>{{Use::kValue, "m", "A"},
                                       {Use::kValue, "m", "B"},
                                       {Use::kNew, "m", "B"},
                                       {Use::kBuild, "m", "B"},
                                       {Use::kAppend, "m", "B"},
                                       {Use::kSetItem, "m", "B"}}));
}

TEST(PickleNames, ANameThatTheTrainerLooksUpIsANameOfThePickle) {
  const std::string find = NameOps("headrace.stage.pickling", "by_name");
  const auto names = Names(find + "\x8c\x02os" + "\x8c\x06system" + "\x86R" + "\x8c\x02id\x85R");
  ASSERT_TRUE(names.ok()) << names.status().ToString();
  EXPECT_EQ(*names,
            (std::set<NameUse>{{Use::kValue, "os", "system"}, {Use::kCall, "os", "system"}}));
  ExpectRefused(find + "NN\x86R", "a computed name");
}

TEST(PickleNames, WhatItDidNotMakeItselfGetsNoStateAndNoItems) {
  const std::string name = NameOps("m", "A");
  ExpectRefused(name + "}b", "a state for what it has not made");
  ExpectRefused("]}b", "a state for what it has not made");
  ExpectRefused(name + "Na", "items for what is no container of its own");
  ExpectRefused(name + "NNs", "items for what is no container of its own");
  ExpectRefused(NameOps("headrace.stage.pickling", "by_name") + "\x8c\x01m\x8c\x01" + "A\x86R}b",
                "a state for what it has not made");
}

TEST(PickleNames, WhatIsCalledIsAName) {
  ExpectRefused("N)R", "a call of what is no name");
  ExpectRefused(NameOps("m", "A") + ")R)R", "a call of what is no name");
  ExpectRefused("N)\x81", "an object of what is no name");
}

TEST(PickleNames, NamesAreNotComputed) {
  ExpectRefused("\x8c\x01mN\x93", "a computed name");
  ExpectRefused("\x8c\x01m" + NameOps("m", "A") + ")R\x93", "a computed name");
}

TEST(PickleNames, OpcodesOfOlderProtocolsAreRefused) {
  for (const std::string_view op :
       {"cos\nsystem\n", "(S'id'\nios\nsystem\n", "I1\n", "Pid\n", "\x82\x01"}) {
    ExpectRefused(op, "no pickle that Python's pickler makes");
  }
  ExpectRefused("Nq\x01", "no pickle that Python's pickler makes");
  ExpectRefused("Nr\xff\xff\xff\x7f"s, "no pickle that Python's pickler makes");
}

TEST(PickleNames, LengthsBeyondTheEndAreRefused) {
  for (const std::string_view op : {"\x8c\x7f", "X\xff\xff\xff\x7f", "C\x7f", "B\xff\xff\xff\x7f",
                                    "\x8b\xff\xff\xff\x7f", "\x8a\x7f"}) {
    ExpectRefused(op, "a length beyond its end");
  }
  for (const char op : {'\x8d', '\x8e', '\x96'}) {
    ExpectRefused(op + std::string(7, '\xff') + "\x7f", "a length beyond its end");
  }
  ExpectRefused("\x95" + std::string(8, '\x7f') + "N", "no pickle");
}

TEST(PickleNames, OnlyAsManyBuffersAreTakenAsThereAre) {
  EXPECT_TRUE(Names("\x97\x97\x86", 2).ok());
  EXPECT_FALSE(Names("\x97\x97\x86", 1).ok());
}

TEST(PickleNames, TooDeepAndTooManyAreRefused) {
  EXPECT_TRUE(Names("N" + std::string(900, '\x85')).ok());
  ExpectTooMuch("N" + std::string(1001, '\x85'), "more than 1000 deep");
  ExpectTooMuch(std::string(std::size_t{1} << 21, '('), "values at once");
}

std::string GetOps(unsigned number) {
  std::string ops = "j";
  for (int i = 0; i < 4; ++i) ops += static_cast<char>(number >> (8 * i) & 255);
  return ops;
}

// Each is made, put away, and given the one before it by what the memo has of it.
TEST(PickleNames, ContainersThatGetDeeperLaterAreAsDeepAsTheyGet) {
  const std::string object = NameOps("m", "A") + ")R";
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"]", "a"}, {object, "a"}, {object, "b"}};
  for (const auto& [make, fill] : kinds) {
    for (const unsigned count : {900U, 1100U}) {
      std::string content = make + "\x94" + "0";
      for (unsigned i = 0; i < count; ++i) content += make + "\x94" + GetOps(i) + fill + "0";
      content += "N";
      EXPECT_EQ(Names(content).ok(), count < 1000) << make << fill;
    }
  }
  // From the outside to the inside.
  for (const unsigned count : {300U, 1100U}) {
    std::string content = "]\x94";
    for (unsigned i = 0; i < count; ++i) content += GetOps(i) + "]\x94" + "a0";
    EXPECT_EQ(Names(content).ok(), count < 1000) << count;
  }
}

TEST(PickleNames, ArraysOfObjectsAreAsDeepAsWhatTheyAreFilledWith) {
  const std::string make = NameOps("headrace.stage.arrays", "rebuild_objects") + ")R\x94" + "0";
  const std::string fill = NameOps("headrace.stage.arrays", "fill_objects");
  for (const unsigned count : {200U, 600U}) {
    std::string content = make;
    for (unsigned i = 0; i < count; ++i) {
      content += make + fill + GetOps(i + 1) + GetOps(i) + "\x85\x86R0";
    }
    EXPECT_EQ(Names(content + "N").ok(), count < 300) << count;
  }
  EXPECT_FALSE(Names(make + fill + GetOps(0) + "N\x86\x94R").ok()) << "others may have them";
}

TEST(PickleNames, WhatHoldsItselfIsRead) {
  EXPECT_TRUE(Names("]\x94" + GetOps(0) + "a").ok());
  EXPECT_TRUE(Names(NameOps("m", "A") + ")\x81\x94}\x8c\x01m" + GetOps(0) + "sb").ok());
}

TEST(PickleNames, ValuesWithAPartManyTimesAreNoKeysAndNoArguments) {
  std::string twice = ")";
  for (unsigned i = 0; i < 40; ++i) twice += "\x94" + GetOps(i) + "\x86";
  EXPECT_TRUE(Names(twice).ok()) << "it is held and not looked through";
  const std::string name = NameOps("m", "A");
  for (const std::string& content :
       {"}" + twice + "Ns", "}(" + twice + "Nu", "\x8f(" + twice + "\x90", "(" + twice + "\x91",
        name + twice + "R", name + twice + "\x81", name + ")R" + twice + "Ns"}) {
    ExpectTooMuch(content, "too many parts");
  }
  // One of 2^20 parts, as often as the bytes of the pickle allow.
  std::string keys = twice.substr(0, 1 + 7 * 20) + "\x94" + "0}(";
  for (unsigned i = 0; i < 1000; ++i) keys += GetOps(20) + "N";
  ExpectTooMuch(keys + "u", "too many parts");
}

TEST(PickleNames, PartsThatComeLaterCountToo) {
  // A pair holds a list many times, which then gets many parts, and is an argument after that.
  std::string content = "]\x94" + GetOps(0) + "\x86\x94";
  for (unsigned i = 1; i < 18; ++i) content += GetOps(i) + "\x86\x94";
  content += GetOps(0) + "(" + std::string(100, 'N') + "e0";
  ExpectTooMuch(NameOps("m", "A") + content + "R", "too many parts");
}

TEST(PickleNames, AStateIsAttributesAndThereIsOne) {
  const std::string object = NameOps("types", "SimpleNamespace") + ")R";
  const std::string more = "a state that is more than attributes";
  EXPECT_TRUE(Names(object + "}\x8c\x01xNsb").ok());
  EXPECT_TRUE(Names(object + "}\x8c\x09__notes__Nsb").ok());
  ExpectRefused(object + "}\x8c\x0c__setstate__Nsb", more);
  ExpectRefused(object + "}(\x8c\x01xN\x8c\x09__class__Nub", more);
  ExpectRefused(object + "}NNsb", more);
  ExpectRefused(object + "N}\x86" + "b", more);
  ExpectRefused(object + "}b}b", "a state for what it has not made");
  const std::string own = NameOps("m", "A") + ")\x81";
  EXPECT_TRUE(Names(own + "N}\x86" + "b").ok());
  ExpectRefused(own + "}\x8c\x0c__setstate__Nsb", more);
  EXPECT_FALSE(Names(own + "}b(Ne").ok()) << "a state may have said what appends";
}

TEST(PickleNames, TheEndIsTheEnd) {
  EXPECT_FALSE(Names("N.N").ok());
  EXPECT_FALSE(Names("NN").ok());
  EXPECT_FALSE(Names("(N").ok());
  EXPECT_FALSE(Names("").ok());
  EXPECT_FALSE(NamesInPickle({}, 0).ok());
  Bytes older = PickleOf(1);
  older[1] = std::byte{4};
  EXPECT_FALSE(NamesInPickle(older, 0).ok());
}

// Under the sanitizers. Any bytes get an answer.
TEST(PickleNames, DamagedPicklesAreRefusedOrRead) {
  const Bytes whole = PickleBytes("(" + NameOps("m", "A") + "K\x01\x94h\x00\x85R]\x94(K\x01K\x02"s +
                                  "e}(\x8c\x01k]us\x8f(K\x03\x90\x8a\x02\x01\x02G12345678t"s);
  const unsigned seed = test_draws::SeedOr(11);
  SCOPED_TRACE("HEADRACE_TEST_SEED=" + std::to_string(seed));
  test_draws::Random random(seed);
  const auto below = [&](std::size_t end) {
    return static_cast<std::size_t>(
        test_draws::Between(random, 0, static_cast<std::int64_t>(end) - 1));
  };
  for (int i = 0; i < 20'000; ++i) {
    Bytes bytes = whole;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      bytes[below(bytes.size())] = static_cast<std::byte>(below(256));
    }
    bytes.resize(bytes.size() - below(3));
    (void)NamesInPickle(bytes, below(2));
  }
}

}  // namespace
}  // namespace headrace::client
