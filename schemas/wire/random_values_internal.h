#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "schemas/wire/message.h"

namespace headrace::wire {

// Random values of the types in messages, from a seed. Each often takes values at its borders. For
// tests; thread-compatible.
class RandomValues {
 public:
  explicit RandomValues(std::uint64_t seed) : engine_(seed) {}

  [[nodiscard]] std::uint64_t Below(std::uint64_t limit) { return engine_() % limit; }
  [[nodiscard]] bool Coin() { return Below(2) == 0; }
  [[nodiscard]] std::uint64_t Number();
  [[nodiscard]] std::int64_t Signed() { return static_cast<std::int64_t>(Number()); }
  [[nodiscard]] std::uint32_t Number32() { return static_cast<std::uint32_t>(Number()); }
  [[nodiscard]] std::int32_t Count();
  [[nodiscard]] double Real();
  [[nodiscard]] std::string Text();
  [[nodiscard]] Bytes Raw();
  template <typename Id>
  [[nodiscard]] Id AnId() {
    return Below(4) == 0 ? Id() : Id(static_cast<std::int64_t>(Number() >> 1));
  }
  template <typename MakeOne>
  [[nodiscard]] auto Some(MakeOne make_one) {
    std::vector<decltype(make_one())> items(Below(4));
    for (auto& item : items) item = make_one();
    return items;
  }

  // Gives each metric of `out` a value.
  template <typename T>
  void Measure(T& out) {
    T::EachMetric([&](const Metric&, auto member) { Set(out.*member); });
  }

  [[nodiscard]] std::vector<TierBytes> TierBytesList();
  [[nodiscard]] std::vector<TierUse> TierUseList();
  [[nodiscard]] std::vector<TierHits> TierHitsList();
  [[nodiscard]] JobGrant Grant();
  [[nodiscard]] Status AStatus();
  [[nodiscard]] Detail ADetail();
  [[nodiscard]] HostIdentity Host();
  [[nodiscard]] ArgValue Arg();

 private:
  void Set(std::uint64_t& value) { value = Number(); }
  void Set(std::uint32_t& value) { value = Number32(); }
  void Set(double& value) { value = static_cast<double>(Number32()) / 3; }

  std::mt19937_64 engine_;
};

}  // namespace headrace::wire
