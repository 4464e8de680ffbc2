#pragma once

#include <sys/stat.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "dataworker/exec/io_executor.h"
#include "dataworker/source/core/source.h"
#include "gtest/gtest.h"
#include "remote/meter.h"
#include "schemas/wire/message.h"
#include "schemas/wire/range_table.h"

// For tests of sources: a directory that goes with the test, and blobs by hash.
namespace headrace::dataworker {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "headrace-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  void Write(const std::string& name, std::string_view content) const {
    std::ofstream(path_ + "/" + name, std::ios::binary | std::ios::trunc) << content;
  }
  // Of a file in its state now, as plans say it.
  [[nodiscard]] std::string VersionOf(const std::string& name) const {
    struct stat st;
    EXPECT_EQ(::stat((path_ + "/" + name).c_str(), &st), 0);
    return wire::VersionOfFile(static_cast<std::uint64_t>(st.st_size),
                               st.st_mtim.tv_sec * 1'000'000'000 + st.st_mtim.tv_nsec);
  }

 private:
  std::string path_;
};

class BlobMap {
 public:
  BlobHash Add(Bytes content) {
    const BlobHash hash = HashBlob(content);
    auto owner = std::make_shared<std::pair<Bytes, ByteSpan>>(std::move(content), ByteSpan());
    owner->second = owner->first;
    blobs_[hash] = BlobContent(owner, &owner->second);
    return hash;
  }
  [[nodiscard]] BlobLookup lookup() const {
    return [blobs = blobs_](BlobHash hash) {
      const auto found = blobs.find(hash);
      return found == blobs.end() ? nullptr : found->second;
    };
  }

 private:
  std::map<BlobHash, BlobContent> blobs_;
};

// Where tests let files be read that are not in memory.
inline IoExecutor& TestIo() {
  static IoExecutor io(4);
  return io;
}

// Counts what is paid, without a limit.
class CountingMeter final : public remote::Meter {
 public:
  std::uint64_t Rate() override { return 0; }
  SteadyTime ReadyAt(SteadyTime now) override { return now; }
  void Take(std::int64_t bytes, SteadyTime /*now*/) override { paid += bytes; }
  std::atomic<std::int64_t> paid = 0;
};

// Collects the answers of one Fetch.
class Answers {
 public:
  // `meter`: asks by FetchMetered.
  Answers(const Source& source, Ask ask, const std::vector<std::int64_t>& rows,
          const std::shared_ptr<remote::Meter>& meter = nullptr)
      : state_(std::make_shared<State>()) {
    state_->answers.resize(rows.size());
    Source::Sink sink = [state = state_](std::size_t index, RowAnswer answer) {
      const std::lock_guard lock(state->mutex);
      std::optional<RowAnswer>& place = state->answers[index];
      EXPECT_FALSE(place) << "row " << index << " was answered twice";
      place = std::move(answer);
      ++state->come;
      state->changed.notify_all();
    };
    if (meter) {
      source.FetchMetered(ask, rows, std::move(sink), meter);
    } else {
      source.Fetch(ask, rows, std::move(sink));
    }
  }
  [[nodiscard]] bool all() const {
    const std::lock_guard lock(state_->mutex);
    return state_->come == state_->answers.size();
  }
  // Waits for the answer of a row.
  [[nodiscard]] RowAnswer Wait(std::size_t index) const {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->answers[index].has_value(); });
    return *state_->answers[index];
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::optional<RowAnswer>> answers;
    std::size_t come = 0;
  };
  const std::shared_ptr<State> state_;
};

// Reads "<height> <width>\n" at the start of a file; when that line is "far" it is at byte 20000.
inline Result<TensorSpec> ReadTextHeader(ByteSpan head,
                                         const std::function<ByteSpan(std::size_t)>& more) {
  std::string_view text = AsText(head);
  if (text.starts_with("far")) {
    text = AsText(more(20'032));
    if (text.size() < 20'001) return DataLoss("header is cut off");
    text.remove_prefix(20'000);
  }
  std::int64_t height = 0, width = 0;
  if (std::sscanf(std::string(text.substr(0, 32)).c_str(), "%ld %ld", &height, &width) != 2) {
    return Unsupported("not an image");
  }
  return TensorSpec{DType::kU8, Layout::kHwc, {height, width, 3}};
}

}  // namespace headrace::dataworker
