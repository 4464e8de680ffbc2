#pragma once

#include <cstdint>
#include <optional>

#include "schemas/wire/message.h"
#include "schemas/wire/random_values_internal.h"

namespace headrace::wire {

// Random but valid messages for property tests. Each field often takes values at its borders.
class RandomBody : RandomValues {
 public:
  explicit RandomBody(std::uint64_t seed) : RandomValues(seed) {}
  // Makes the alternative `index` of Body.
  [[nodiscard]] Body Make(std::size_t index);
  [[nodiscard]] Plan MakePlan();

 private:
  [[nodiscard]] Split ASplit(std::int32_t nodes);
  [[nodiscard]] SessionLoad Load();
  [[nodiscard]] WorkerInfo Worker();
  [[nodiscard]] JobUsage Usage();
  [[nodiscard]] WorkerHeartbeat Heartbeat();
  [[nodiscard]] UnfitWorker Unfit();
  [[nodiscard]] BadSample Bad();
  [[nodiscard]] JobStatus Job();
  [[nodiscard]] Body MakeControl(std::size_t index);
  [[nodiscard]] Body MakeData(std::size_t index);
  [[nodiscard]] std::optional<TensorSpec> ASpec();
  [[nodiscard]] BatchRequest Request();
  [[nodiscard]] BatchDone Done();
  [[nodiscard]] EntryWords Entry();
};

}  // namespace headrace::wire
