#include "dataworker/cache/entry_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>

namespace headrace::dataworker {
namespace {

TEST(EntrySample, SamplesOfSeveralEntriesHaveTheLeastBound) {
  EntrySample sample;
  sample.Add({.below = 100, .names = {70, 10}});
  EXPECT_EQ(sample.names, (std::vector<std::uint64_t>{10, 70}));
  sample.Add({.below = 50, .names = {20}});
  sample.Add({});  // a tier without a sample
  EXPECT_EQ(sample.below, 50U);
  EXPECT_EQ(sample.names, (std::vector<std::uint64_t>{10, 20}));
}

TEST(EntrySample, KeepsToABoundOfNames) {
  EntrySample sample{.below = kAllNames, .names = {1, 2, 3, 4, 5}};
  sample.KeepTo(5);
  EXPECT_EQ(sample.below, kAllNames);
  sample.KeepTo(3);
  EXPECT_EQ(sample.below, 4U);
  EXPECT_EQ(sample.names, (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST(EntrySample, AFileOfOneMountHasOneNameOnAllHostsAndOthersHaveTheirOwn) {
  const ContentIdentity file{.place = {8, 4711}, .version = {100, 20, 30}};
  ContentIdentity there = file;
  there.place[0] = 45;  // the host numbers the mount so
  const EntryForm form{1, 2};
  EXPECT_EQ(SampledName(file, form), SampledName(there, form));
  EXPECT_NE(SampledName(file, form), SampledName(file, {1, 3}));
  there.place[1] = 4712;
  EXPECT_NE(SampledName(file, form), SampledName(there, form));
  ContentIdentity newer = file;
  newer.version[2] = 31;
  EXPECT_NE(SampledName(file, form), SampledName(newer, form));
  const auto object = [](std::string_view url) {
    return ContentIdentity::OfText(url, "v1", NameReach::kEverywhere);
  };
  EXPECT_NE(SampledName(object("http://a/1"), form), SampledName(object("http://a/2"), form));
}

// A model of an account's chunks: what is in each.
class Model {
 public:
  explicit Model(std::uint64_t seed) : random_(seed) {}
  void NewChunk() {
    chunks_.push_back(std::make_unique<Held>());
    chunks_.back()->names.Join(&account_);
  }
  void Add() {
    Held& chunk = *chunks_[random_() % chunks_.size()];
    const std::uint64_t name = random_();
    chunk.all.push_back(name);
    chunk.names.Add(name);
  }
  void Remove() {
    Held& chunk = *chunks_[random_() % chunks_.size()];
    if (chunk.all.empty()) return;
    std::swap(chunk.all[random_() % chunk.all.size()], chunk.all.back());
    chunk.names.Remove(chunk.all.back());
    chunk.all.pop_back();
  }
  void DropChunk() {
    if (chunks_.size() < 2) return;
    std::swap(chunks_[random_() % chunks_.size()], chunks_.back());
    chunks_.back()->names.Join(nullptr);
    chunks_.pop_back();
  }
  // The sample has exactly the entries below its bound.
  void Check() const {
    EntrySample sample;
    std::vector<std::uint64_t> expected;
    for (const auto& chunk : chunks_) chunk->names.AddTo(sample);
    sample.Settle();
    for (const auto& chunk : chunks_) {
      for (const std::uint64_t name : chunk->all) {
        if (name < sample.below) expected.push_back(name);
      }
    }
    std::ranges::sort(expected);
    ASSERT_EQ(sample.names, expected);
    ASSERT_LE(sample.names.size(), AccountNames::kMost);
  }
  [[nodiscard]] std::uint64_t Draw(std::uint64_t n) { return random_() % n; }
  [[nodiscard]] std::size_t entries() const {
    std::size_t sum = 0;
    for (const auto& chunk : chunks_) sum += chunk->all.size();
    return sum;
  }
  [[nodiscard]] EntrySample sample() const {
    EntrySample sample;
    for (const auto& chunk : chunks_) chunk->names.AddTo(sample);
    sample.Settle();
    return sample;
  }

 private:
  struct Held {
    ChunkNames names;
    std::vector<std::uint64_t> all;
  };
  std::mt19937_64 random_;
  AccountNames account_;
  std::vector<std::unique_ptr<Held>> chunks_;
};

TEST(EntrySample, HasExactlyTheEntriesBelowItsBoundWhateverComesAndGoes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Model model(seed);
    model.NewChunk();
    for (int step = 0; step < 4000; ++step) {
      const std::uint64_t what = model.Draw(200);
      if (what == 0) model.NewChunk();
      if (what == 1) model.DropChunk();
      if (what >= 2 && what < 140) model.Add();
      if (what >= 140) model.Remove();
      if (step % 100 > 0) continue;
      ASSERT_NO_FATAL_FAILURE(model.Check());
    }
    ASSERT_NO_FATAL_FAILURE(model.Check());
  }
}

TEST(EntrySample, ManyEntriesLeaveEnoughNamesAndFewAreAllThere) {
  Model model(7);
  model.NewChunk();
  for (int i = 0; i < 100; ++i) model.Add();
  EXPECT_EQ(model.sample().below, kAllNames);
  for (int i = 0; i < 20'000; ++i) model.Add();
  EXPECT_GE(model.sample().names.size(), AccountNames::kMost / 4);
  EXPECT_LE(model.sample().names.size(), AccountNames::kMost);
}

TEST(EntrySample, TheBoundRisesAgainWithNewChunks) {
  Model model(9);
  model.NewChunk();
  for (int i = 0; i < 20'000; ++i) model.Add();
  const std::uint64_t low = model.sample().below;
  for (int i = 0; i < 40; ++i) {
    model.NewChunk();
    for (int j = 0; j < 20; ++j) model.DropChunk();
    for (int j = 0; j < 10; ++j) model.Add();
  }
  ASSERT_NO_FATAL_FAILURE(model.Check());
  EXPECT_GT(model.sample().below, low) << "of " << model.entries();
}

}  // namespace
}  // namespace headrace::dataworker
