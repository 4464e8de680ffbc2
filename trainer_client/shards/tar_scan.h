#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "trainer_client/shards/tar_header.h"

namespace headrace::client {

// Which members of a tar make a sample, by what follows the first point of their file names.
struct SampleRules {
  std::vector<std::string> images;   // lower case; the first one that a sample has
  std::vector<std::string> targets;  // likewise; empty: samples have none
  std::string kept;                  // targets whose bytes are kept; empty: none
};

// The samples of a tar in WebDataset's layout: neighbours whose names are the same up to the first point
// of the file name. Vectors are as long as there are samples.
struct TarSamples {
  std::string keys;  // one after the other
  std::vector<std::int64_t> key_ends;
  std::vector<std::uint64_t> firsts, target_firsts;  // in the tar
  std::vector<std::uint32_t> sizes, target_sizes;    // bytes
  std::vector<std::uint8_t> targets;                 // which of SampleRules::targets
  std::string kept;                                  // one after the other
  std::vector<std::int64_t> kept_ends;
};

// Lists a tar from pieces of it, without what lies between headers. It says which bytes it wants, and
// whoever has it reads them. Pure. One thread.
class TarScan {
 public:
  // `size`: of the tar.
  TarScan(std::uint64_t size, SampleRules rules)
      : size_(size), rules_(std::move(rules)), want_{0, std::min(size, kTarBlock)} {}

  struct Want {
    std::uint64_t first = 0;
    std::uint64_t bytes = 0;  // at least; no more than the tar has
  };
  // nullopt: it is over.
  [[nodiscard]] std::optional<Want> wants() const {
    return done_ ? std::nullopt : std::optional(want_);
  }
  // Takes bytes from want.first on, and goes as far as they reach. kDataLoss: the tar is torn or none.
  // kUnsupported: a form of tar whose members are no ranges. kInvalidArgument: a sample that the rules
  // do not fit, or fewer bytes than wanted. The message says where. After an error it is of no use.
  Status Take(ByteSpan bytes);
  // REQUIRES: !wants().
  [[nodiscard]] const TarSamples& samples() const { return samples_; }

  static constexpr std::uint64_t kMostHeaderData = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kMostKept = std::uint64_t{1} << 20;
  static constexpr std::size_t kMostMembers = 1000;  // of a sample

 private:
  // What headers said of the member that follows them.
  struct Said {
    std::optional<std::string> path;
    std::optional<std::uint64_t> size;
  };
  // A sample whose members may go on.
  struct Open {
    bool is_open = false;
    std::string key;
    std::size_t image = 0, target = 0;  // which rule; as many as there are rules: none
    std::uint64_t first = 0, target_first = 0;
    std::uint64_t size = 0, target_size = 0;
    std::string kept;
    std::vector<std::string> seen;  // endings
  };

  // One header and what of its data is looked at. false: `rest` is too short; want_ says of what.
  Result<bool> Step(ByteSpan rest);
  Status TakeHeaderData(const TarHeader& header, std::string_view data);
  // `data`: of a target that is kept, once it is there.
  Status TakeMember(const TarHeader& header, const std::string& name, std::uint64_t size,
                    std::string_view data);
  Status EndSample();
  [[nodiscard]] bool IsKept(const TarHeader& header, const std::string& name) const;
  [[nodiscard]] Status At(Status status) const;

  const std::uint64_t size_;
  const SampleRules rules_;
  std::uint64_t at_ = 0;  // of the next header
  Want want_;
  bool done_ = false;
  Said said_;
  Open open_;
  TarSamples samples_;
};

}  // namespace headrace::client
