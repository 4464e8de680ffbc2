#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataworker/cache/memory/memory_cache.h"
#include "dataworker/session/leaf_neighbours.h"
#include "dataworker/stage/stage_request.h"
#include "gtest/gtest.h"
#include "net/test_util.h"

namespace headrace::dataworker::neighbour_tests {

using net::testing::RunOn;

inline constexpr JobId kJobOfLane(1);
inline constexpr const char* kCoordinatorOfAll = "tcp://head:7070";
inline const wire::HostIdentity kThisHost{.hostname = "host", .boot_id = "boot", .uid = 5};
inline constexpr std::uint64_t kAllOfIt = std::uint64_t{1} << 40;  // a quota

inline Bytes Pixels(std::size_t size, int seed) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(31 * i + static_cast<std::size_t>(seed));
  }
  return bytes;
}

inline Bytes ReadAll(const UniqueFd& file, std::size_t bytes) {
  Bytes content(bytes);
  EXPECT_EQ(::pread(file.get(), content.data(), bytes, 0), static_cast<ssize_t>(bytes));
  return content;
}

// The half of a worker that has to do with leaves.
struct TestHalf {
  TestHalf(net::Reactor& on, const std::string& base, const std::string& coordinator)
      : reactor(on), neighbours(on) {
    std::vector<SampleStore::Tier> tiers;
    tiers.push_back({"memory", MakeMemoryCache(16 << 20)});
    store = std::make_shared<SampleStore>(std::move(tiers));
    store->AddJob(kJobOfLane, kAllOfIt);
    shelf = std::make_unique<LeafShelf>(store);
    RunOn(reactor, [&] {
      desk = JoinNeighbours(reactor, base, kThisHost, coordinator, *shelf, neighbours);
    });
  }
  // Keeps one leaf of 4096 bytes for each tag.
  void Keep(const std::vector<std::uint64_t>& tags, int seed = 0) {
    Bytes content = Pixels(4096 * tags.size(), seed);
    std::vector<LeafShelf::Row> rows;
    for (std::size_t i = 0; i < tags.size(); ++i) {
      rows.push_back({tags[i], 1, tags[i], 10, 0, 0, 7, 7, 4096 * i, 4096, 1000});
    }
    const ByteSpan raw = std::as_bytes(std::span(rows));
    content.insert(content.end(), raw.begin(), raw.end());
    auto file = MemoryFile("leaves", content);
    ASSERT_TRUE(file.ok());
    RunOn(reactor, [&] {
      EXPECT_TRUE(
          shelf->Put(kJobOfLane, std::move(file).value(), rows.size(), content.size()).ok());
    });
  }
  // The rows of its lanes, once the neighbours have been asked.
  std::vector<LeafShelf::FullRow> Rows() {
    Ask()->wait();
    return RowsNow();
  }
  std::shared_ptr<std::future<void>> Ask() {
    auto done = std::make_shared<std::promise<void>>();
    auto future = std::make_shared<std::future<void>>(done->get_future());
    reactor.Post([this, done] { neighbours.Refresh([done] { done->set_value(); }); });
    return future;
  }
  std::vector<LeafShelf::FullRow> RowsNow() {
    std::vector<LeafShelf::FullRow> rows;
    RunOn(reactor, [&] {
      shelf->SetNeighbours(neighbours.offered(), neighbours.version());
      const auto index = shelf->Index(SteadyTime());
      ASSERT_TRUE(index.ok());
      rows.resize(index->bytes / sizeof(LeafShelf::FullRow));
      EXPECT_EQ(::pread(index->memory.get(), rows.data(), index->bytes, 0),
                static_cast<ssize_t>(index->bytes));
    });
    return rows;
  }
  Result<Neighbours::File> Segment(std::uint64_t number) { return AskSegment(number).get(); }
  std::future<Result<Neighbours::File>> AskSegment(std::uint64_t number) {
    auto came = std::make_shared<std::promise<Result<Neighbours::File>>>();
    reactor.Post([this, came, number] {
      const LeafShelf::Place place = LeafShelf::PlaceOf(number);
      neighbours.Segment(place.neighbour, place.number, [came](Result<Neighbours::File> file) {
        came->set_value(std::move(file));
      });
    });
    return came->get_future();
  }

  net::Reactor& reactor;
  std::shared_ptr<SampleStore> store;
  std::unique_ptr<LeafShelf> shelf;
  Neighbours neighbours;
  std::unique_ptr<NeighbourDesk> desk;
};

class LeafNeighboursTest : public testing::Test {
 protected:
  LeafNeighboursTest() {
    std::string name = testing::TempDir() + "/leavesXXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    reactor_ = *net::Reactor::Make("leaves", clock_);
    EXPECT_TRUE(reactor_->Start().ok());
  }
  ~LeafNeighboursTest() override {
    RunOn(*reactor_, [this] { halves_.clear(); });
    reactor_->Stop();
    std::filesystem::remove_all(folder_);
  }
  TestHalf& Add(const std::string& name, const std::string& coordinator = kCoordinatorOfAll) {
    auto half = std::make_unique<TestHalf>(*reactor_, folder_ + "/" + name, coordinator);
    halves_.push_back(std::move(half));
    return *halves_.back();
  }
  void End(TestHalf& half) {
    RunOn(*reactor_,
          [&] { std::erase_if(halves_, [&](const auto& one) { return one.get() == &half; }); });
  }
  void Advance(Duration by) {
    RunOn(*reactor_, [&] { clock_.Advance(by); });
  }

  std::string folder_;
  FakeClock clock_;  // nobody is late unless it is said
  std::unique_ptr<net::Reactor> reactor_;
  std::vector<std::unique_ptr<TestHalf>> halves_;
};

}  // namespace headrace::dataworker::neighbour_tests
