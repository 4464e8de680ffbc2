#pragma once

#include <string>

#include "simulate/trace/csv.h"
#include "simulate/trace/trace.h"

// Limits for fields: enough for any cluster, and small enough that products stay finite.
namespace headrace::simulate {

constexpr double kMostSeconds = 1e10;
constexpr double kMostGpus = 100000;
constexpr double kMostCount = 1e15;
constexpr double kMostGB = 1e9;
constexpr double kLeastSeconds = 1e-9;

// Makes a record with its place, and with its GPUs from `column` (a whole number).
template <typename Column>
Result<Record> Begin(const Input& input, const Row& row, const Column& column,
                     std::string_view name) {
  Record record;
  record.where = input.file + ":" + std::to_string(row.line());
  double gpus = 0;
  if constexpr (std::is_integral_v<Column>) {
    HR_TRY(gpus, row.Number(static_cast<std::size_t>(column), name, 1, kMostGpus));
  } else {
    HR_TRY(gpus, row.Number(column, 1, kMostGpus));
  }
  record.gpus = static_cast<int>(gpus);
  if (record.gpus != gpus) return row.Wrong(name, "a whole number", std::to_string(gpus));
  return record;
}

}  // namespace headrace::simulate
