#include "ops/torch/torch_exp.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

namespace headrace::ops {
namespace {

constexpr std::uint32_t kMagic = 0x58545248;  // "HRTX"
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kMaxRanges = 64;
constexpr std::uint32_t kSteps = 1U << 24;
constexpr float kMaxInput = 80;

struct Head {
  std::uint32_t magic, version, ranges, count;
};
struct WireRange {
  float low, high;
  std::uint32_t rounding;
};

WireRange WireOf(const ExpRange& range) {
  return {range.low, range.high, static_cast<std::uint32_t>(range.rounding)};
}

constexpr std::size_t kBuckets = std::size_t{1} << 17;

using Exception = TorchExpTable::Exception;

template <typename T>
void Append(Bytes& bytes, std::span<const T> items) {
  const ByteSpan raw = std::as_bytes(items);
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

void InputsOf(const ExpRange& range, std::uint32_t first, std::span<float> out) {
  const float width = range.high - range.low;
  const bool fused = range.rounding == TorchGenerator::Rounding::kFused;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const float unit = static_cast<float>(first + static_cast<std::uint32_t>(i)) * 0x1p-24F;
    // Computes the fused result in double. The product of two 24-bit numbers is exact there, but
    // the sum is not always. The few values whose sum was rounded go through fma.
    if (!fused) {
      out[i] = unit * width + range.low;
      continue;
    }
    const double product = static_cast<double>(unit) * static_cast<double>(width);
    const double low = range.low;
    const double sum = product + low;
    const bool exact = sum - product == low && sum - low == product;
    out[i] = exact ? static_cast<float>(sum) : std::fma(unit, width, range.low);
  }
}

Status CollectExceptions(const ExpRange& range, const ExpFunction& torch_exp,
                         std::vector<Exception>& found) {
  constexpr std::size_t kChunk = 1 << 16;
  std::vector<float> inputs(kChunk), expected(kChunk), actual(kChunk);
  for (std::uint32_t first = 0; first < kSteps; first += kChunk) {
    InputsOf(range, first, inputs);
    HR_RETURN_IF_ERROR(torch_exp(inputs, actual));
    for (std::size_t i = 0; i < kChunk; ++i) expected[i] = ExpFloat(inputs[i]);
    for (std::size_t i = 0; i < kChunk; ++i) {
      if (std::bit_cast<std::uint32_t>(expected[i]) != std::bit_cast<std::uint32_t>(actual[i])) {
        found.push_back({inputs[i], actual[i]});
      }
    }
  }
  return Status::Ok();
}

}  // namespace

float ExpFloat(float x) {
  // Taylor series of e^r, |r| <= ln 2 / 2, to 2^-53. It uses plain multiplies and adds in double,
  // so that all machines round the same. Its own error does not matter as long as all agree.
  static constexpr std::array<double, 14> kInverseFactorial = {1.0,
                                                               1.0,
                                                               1.0 / 2,
                                                               1.0 / 6,
                                                               1.0 / 24,
                                                               1.0 / 120,
                                                               1.0 / 720,
                                                               1.0 / 5040,
                                                               1.0 / 40320,
                                                               1.0 / 362880,
                                                               1.0 / 3628800,
                                                               1.0 / 39916800,
                                                               1.0 / 479001600,
                                                               1.0 / 6227020800};
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2High = 0x1.62e42fee00000p-1;  // 21 trailing zeros: k * kLn2High is exact
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kRound = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
  const double value = x;
  const double shifted = value * kLog2E + kRound;
  const double k = shifted - kRound;
  const double r = (value - k * kLn2High) - k * kLn2Low;
  double sum = kInverseFactorial[13];
  for (int i = 12; i >= 0; --i) sum = sum * r + kInverseFactorial[static_cast<std::size_t>(i)];
  const std::uint64_t exponent = std::bit_cast<std::uint64_t>(shifted) << 52;
  return static_cast<float>(std::bit_cast<double>(std::bit_cast<std::uint64_t>(sum) + exponent));
}

Result<Bytes> BuildTorchExpTable(std::span<const ExpRange> ranges, const ExpFunction& torch_exp) {
  if (ranges.size() > kMaxRanges) return InvalidArgument("torch_exp: too many ranges");
  std::vector<Exception> found;
  for (const ExpRange& range : ranges) {
    if (!(range.low <= range.high && -kMaxInput <= range.low && range.high <= kMaxInput)) {
      return InvalidArgument("torch_exp: bad range " + std::to_string(range.low) + " to " +
                             std::to_string(range.high));
    }
    HR_RETURN_IF_ERROR(CollectExceptions(range, torch_exp, found));
  }
  std::ranges::sort(found, {}, &Exception::input);
  const auto same = [](const Exception& a, const Exception& b) { return a.input == b.input; };
  found.erase(std::unique(found.begin(), found.end(), same), found.end());

  Bytes bytes;
  const Head head{kMagic, kVersion, static_cast<std::uint32_t>(ranges.size()),
                  static_cast<std::uint32_t>(found.size())};
  Append(bytes, std::span(&head, 1));
  for (const ExpRange& range : ranges) {
    const WireRange wire = WireOf(range);
    Append(bytes, std::span(&wire, 1));
  }
  for (const Exception& e : found) Append(bytes, std::span(&e.input, 1));
  for (const Exception& e : found) Append(bytes, std::span(&e.output, 1));
  return bytes;
}

Result<std::shared_ptr<const TorchExpTable>> TorchExpTable::Parse(ByteSpan constant) {
  static std::mutex mutex;
  static std::vector<std::weak_ptr<const TorchExpTable>> known;
  const std::lock_guard lock(mutex);
  std::erase_if(known, [](const auto& table) { return table.expired(); });
  for (const auto& weak : known) {
    std::shared_ptr<const TorchExpTable> table = weak.lock();
    if (table != nullptr && table->IsOf(constant)) return table;
  }
  HR_TRY(std::shared_ptr<const TorchExpTable> table, Read(constant));
  known.push_back(table);
  return table;
}

bool TorchExpTable::IsOf(ByteSpan constant) const {
  const Head head{kMagic, kVersion, static_cast<std::uint32_t>(ranges_.size()),
                  static_cast<std::uint32_t>(exceptions_.size())};
  const std::size_t values = exceptions_.size() * sizeof(float);
  if (constant.size() != sizeof(head) + ranges_.size() * sizeof(WireRange) + 2 * values) {
    return false;
  }
  const std::byte* at = constant.data();
  const auto is_next = [&](const auto& value) {
    const bool same = std::memcmp(at, &value, sizeof(value)) == 0;
    at += sizeof(value);
    return same;
  };
  if (!is_next(head)) return false;
  for (const ExpRange& range : ranges_) {
    if (!is_next(WireOf(range))) return false;
  }
  return std::ranges::all_of(exceptions_, [&](const Exception& exception) {
    const bool same = std::memcmp(at, &exception.input, sizeof(float)) == 0 &&
                      std::memcmp(at + values, &exception.output, sizeof(float)) == 0;
    at += sizeof(float);
    return same;
  });
}

Result<std::shared_ptr<const TorchExpTable>> TorchExpTable::Read(ByteSpan constant) {
  Head head{};
  if (constant.size() < sizeof(head)) return DataLoss("torch_exp: no header");
  std::memcpy(&head, constant.data(), sizeof(head));
  const std::size_t values = std::size_t{head.count} * sizeof(float);
  if (head.magic != kMagic || head.version != kVersion || head.ranges > kMaxRanges ||
      constant.size() != sizeof(head) + head.ranges * sizeof(WireRange) + 2 * values) {
    return DataLoss("torch_exp: not a table of version " + std::to_string(kVersion));
  }
  auto table = std::make_shared<TorchExpTable>();
  const std::byte* at = constant.data() + sizeof(head);
  for (std::uint32_t i = 0; i < head.ranges; ++i, at += sizeof(WireRange)) {
    WireRange wire{};
    std::memcpy(&wire, at, sizeof(wire));
    if (wire.rounding > 1) return DataLoss("torch_exp: unknown rounding");
    table->ranges_.push_back(
        {wire.low, wire.high, static_cast<TorchGenerator::Rounding>(wire.rounding)});
  }
  table->exceptions_.resize(head.count);
  for (Exception& exception : table->exceptions_) {
    std::memcpy(&exception.input, at, sizeof(float));
    std::memcpy(&exception.output, at + values, sizeof(float));
    at += sizeof(float);
  }
  const std::vector<Exception>& all = table->exceptions_;
  if (!std::ranges::all_of(all, [](const Exception& e) { return std::isfinite(e.input); }) ||
      !std::ranges::is_sorted(all, {}, &Exception::input)) {
    return DataLoss("torch_exp: inputs not ascending");
  }
  if (!all.empty()) table->MakeIndex();
  return std::shared_ptr<const TorchExpTable>(std::move(table));
}

void TorchExpTable::MakeIndex() {
  first_ = exceptions_.front().input;
  const double width = double{exceptions_.back().input} - double{first_};
  scale_ = width > 0 ? static_cast<double>(kBuckets) / width : 0;
  starts_.assign(kBuckets + 1, 0);
  for (const Exception& exception : exceptions_) ++starts_[Bucket(exception.input) + 1];
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
}

std::size_t TorchExpTable::Bucket(float x) const {
  const double at = (double{x} - double{first_}) * scale_;
  return at > 0 ? std::min(static_cast<std::size_t>(std::min(at, double{kBuckets})), kBuckets - 1)
                : 0;
}

bool TorchExpTable::Covers(const ExpRange& range) const {
  return std::ranges::find(ranges_, range) != ranges_.end();
}

float TorchExpTable::operator()(float x) const {
  if (!exceptions_.empty()) {
    const std::size_t bucket = Bucket(x);
    for (std::size_t i = starts_[bucket]; i < starts_[bucket + 1]; ++i) {
      if (exceptions_[i].input == x) return exceptions_[i].output;
    }
  }
  return ExpFloat(x);
}

}  // namespace headrace::ops
