#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "simulate/job.h"

// A job as a trace's file has it, and the published rule that adds what the file lacks.
// docs/reference/traces.md has the same tables.
namespace headrace::simulate {

struct Record {
  std::string where;  // "FILE:LINE"
  std::string id;
  std::string model;
  std::string tenant;
  double arrival_s = 0;
  int gpus = 1;
  int priority = 0;
  std::optional<double> iterations;
  std::optional<double> duration_s;   // for all iterations, as measured
  std::optional<double> iteration_s;  // for one iteration, as measured
  std::optional<double> batch;        // samples an iteration and GPU
  // The stages of an iteration, measured separately: input with `profile_cores` cores for each GPU,
  // and the trainer's own step (GPU and network).
  std::optional<double> input_s;
  std::optional<double> step_s;
  std::optional<double> hit_input_s;  // input from the cache; by default the same
  std::optional<double> profile_cores;
  // Cores for each GPU at which input is as fast as the trainer.
  std::optional<double> full_speed_cores;
  std::optional<bool> separable;
  std::string dataset;
  std::optional<double> dataset_bytes;
  std::optional<double> sample_bytes;
  std::optional<double> entry_bytes;
  std::optional<double> sent_bytes;
  std::vector<Ramp> ramp;
};

struct AssignOptions {
  double profile_cores = 3;  // a GPU, that the trace's times were measured with
  bool all_separable = false;
  bool private_datasets = false;  // no two jobs read the same data
  std::uint64_t seed = 1;         // for models, if the trace has none
};

// Known properties of a model, found by its name.
struct ModelProfile {
  std::string_view pattern;  // part of the name in lower case
  double full_speed_cores;   // a GPU
  double batch;              // samples an iteration and GPU
  double step_s;             // an iteration of that batch when data is always ready
  std::string_view dataset;
  bool separable = true;
};
struct DatasetProfile {
  std::string_view name;
  double bytes;
  double samples;
};

// The first profile whose pattern is in `model`, else the last one, which is for unknown models.
[[nodiscard]] const ModelProfile& ProfileOf(std::string_view model);
[[nodiscard]] const DatasetProfile* FindDataset(std::string_view name);
[[nodiscard]] std::vector<DatasetProfile> KnownDatasets();
// Draws a model for a job whose trace names none, from the seed and the job's position. The mix is
// Synergy's: 20% vision, 70% language, 10% speech.
[[nodiscard]] std::string_view DrawModel(std::uint64_t seed, std::size_t position);

// Adds what is missing. Jobs come in order of arrival; ties keep their order. kInvalidArgument: a
// record gives neither its duration nor its amount of work, or contradicts another record on a data
// set.
[[nodiscard]] Result<Trace> Assign(std::vector<Record> records, const AssignOptions& options);

}  // namespace headrace::simulate
