#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "simulate/random.h"
#include "simulate/trace/record.h"

namespace headrace::simulate {
namespace {

// Cores for each GPU at which input keeps up: three times the speed-up over three cores in
// Synergy's profiles; one half if they are flat from one core on.
constexpr std::array kModels = {
    ModelProfile{"a2c", 110, 64, 0.014, "", false},
    ModelProfile{"a3c", 110, 64, 0.014, "", false},
    ModelProfile{"dqn", 160, 128, 0.008, "", false},
    ModelProfile{"alexnet", 8.8, 512, 0.204, "imagenet-1k"},
    ModelProfile{"shufflenet", 8.7, 128, 0.053, "imagenet-1k"},
    ModelProfile{"mobilenet", 4.65, 512, 0.458, "imagenet-1k"},
    ModelProfile{"resnet18", 7.2, 128, 0.067, "imagenet-1k"},
    ModelProfile{"resnet-18", 7.2, 128, 0.067, "imagenet-1k"},
    ModelProfile{"res18", 7.2, 512, 0.267, "imagenet-1k"},
    ModelProfile{"resnet50", 3.45, 128, 0.17, "imagenet-1k"},
    ModelProfile{"resnet-50", 3.45, 128, 0.17, "imagenet-1k"},
    ModelProfile{"res50", 3.45, 512, 0.678, "imagenet-1k"},
    ModelProfile{"vgg", 4.5, 16, 0.068, "imagenet-1k"},
    ModelProfile{"imagenet", 3.45, 200, 0.26, "imagenet-1k"},
    ModelProfile{"efficientnet", 4.65, 128, 0.2, "imagenet-1k"},
    ModelProfile{"cyclegan", 1.5, 1, 0.2, "imagenet-1k"},
    ModelProfile{"cifar", 1, 256, 0.05, "cifar-10"},
    ModelProfile{"yolo", 4.65, 16, 0.4, "coco"},
    ModelProfile{"deepspeech", 3, 20, 0.757, "librispeech"},
    ModelProfile{"m5", 7.5, 512, 0.24, "librispeech"},
    ModelProfile{"gpt", 0.5, 4, 0.41, "text"},
    ModelProfile{"bert", 0.5, 4, 0.16, "text"},
    ModelProfile{"gnmt", 0.5, 128, 0.12, "text"},
    ModelProfile{"lstm", 0.5, 20, 0.011, "text"},
    ModelProfile{"transformer", 0.5, 128, 0.67, "text"},
    ModelProfile{"lm", 0.5, 80, 0.02, "text"},
    ModelProfile{"vae", 0.5, 20, 0.011, "text"},
    ModelProfile{"recommendation", 0.5, 1024, 0.05, "movielens"},
    ModelProfile{"ncf", 0.5, 1024, 0.01, "movielens"},
    ModelProfile{"", 0.5, 32, 0.1, ""},
};

constexpr double kGB = 1e9;
constexpr std::array kDatasets = {
    DatasetProfile{"imagenet-1k", 143 * kGB, 1281167},
    DatasetProfile{"openimages", 660 * kGB, 9e6},
    DatasetProfile{"imagenet-22k", 1360 * kGB, 14.2e6},
    DatasetProfile{"youtube-8m", 1460 * kGB, 6.1e6},
    DatasetProfile{"websearch", 20900 * kGB, 1e9},
    DatasetProfile{"cifar-10", 0.17 * kGB, 50000},
    DatasetProfile{"coco", 19 * kGB, 118287},
    DatasetProfile{"librispeech", 60 * kGB, 281241},
    DatasetProfile{"text", 10 * kGB, 5e6},
    DatasetProfile{"movielens", 0.5 * kGB, 20e6},
};

class Datasets {
 public:
  Datasets(Trace& trace, bool separate) : trace_(trace), private_(separate) {}

  // Fills in dataset, sample_bytes and entry_bytes of the job.
  Status Add(const Record& record, std::string_view name, Job& job) {
    if (name.empty() || name == "none") return Status::Ok();
    const DatasetProfile* known = FindDataset(name);
    if (known == nullptr && !record.dataset_bytes) {
      return InvalidArgument(record.where + ": dataset_gb: expected a size, '" + std::string(name) +
                             "' is not a data set whose size is known");
    }
    const double bytes = record.dataset_bytes ? *record.dataset_bytes : known->bytes;
    job.sample_bytes = record.sample_bytes ? *record.sample_bytes
                       : known != nullptr  ? bytes / known->samples
                                           : std::min(bytes, 1e5);
    job.entry_bytes = record.entry_bytes.value_or(job.sample_bytes);
    std::string key(name);
    if (private_) key += " of " + job.id;
    const auto [it, fresh] = positions_.emplace(key, trace_.datasets.size());
    if (fresh) {
      trace_.datasets.push_back({std::move(key), bytes});
    } else if (trace_.datasets[it->second].bytes != bytes) {
      return InvalidArgument(record.where + ": dataset_gb: expected the size that '" +
                             std::string(name) + "' has in other rows");
    }
    job.dataset = static_cast<std::int32_t>(it->second);
    return Status::Ok();
  }

 private:
  Trace& trace_;
  bool private_;
  std::map<std::string, std::size_t> positions_;
};

// Fills in the length and the cost of an iteration.
Status AddTimes(const Record& record, const ModelProfile& profile, const AssignOptions& options,
                Job& job) {
  const bool has_steps = record.iteration_s || record.step_s;
  if (!record.duration_s && !(record.iterations && has_steps)) {
    return InvalidArgument(record.where +
                           ": expected how long it takes: duration_s, or iterations with "
                           "iteration_s or step_s");
  }
  const double gpus = record.gpus;
  const double cores = record.profile_cores.value_or(options.profile_cores);
  std::optional<double> measured = record.iteration_s;
  if (!measured && record.duration_s && record.iterations) {
    measured = *record.duration_s / *record.iterations;
  }
  double input = 0, step = 0;
  if (record.step_s) {
    input = record.input_s.value_or(record.full_speed_cores.value_or(profile.full_speed_cores) /
                                    cores * *record.step_s);
    step = *record.step_s;
    if (measured) {  // stages were measured separately: one factor makes them the iteration's time
      const double factor = *measured / std::max(input, step);
      input *= factor;
      step *= factor;
    }
  } else {
    if (record.input_s) {
      return InvalidArgument(record.where + ": step_s: expected a number beside input_s");
    }
    const double ratio = record.full_speed_cores.value_or(profile.full_speed_cores) / cores;
    step = measured ? *measured / std::max(1.0, ratio) : profile.step_s;
    input = step * ratio;
  }
  job.iterations =
      record.iterations ? *record.iterations : *record.duration_s / std::max(input, step);
  const double core_seconds = cores * gpus;
  const double hit_share = record.hit_input_s && record.input_s && *record.input_s > 0
                               ? std::min(1.0, *record.hit_input_s / *record.input_s)
                               : 1;
  job.step_s = step;
  job.input_core_s = input * core_seconds;
  job.hit_core_s = job.input_core_s * hit_share;
  return Status::Ok();
}

}  // namespace

const ModelProfile& ProfileOf(std::string_view model) {
  std::string lower;
  for (const char c : model) {
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const ModelProfile& each : kModels) {
    if (lower.find(each.pattern) != std::string::npos) return each;
  }
  return kModels.back();
}

const DatasetProfile* FindDataset(std::string_view name) {
  for (const DatasetProfile& each : kDatasets) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::vector<DatasetProfile> KnownDatasets() { return {kDatasets.begin(), kDatasets.end()}; }

std::string_view DrawModel(std::uint64_t seed, std::size_t position) {
  constexpr std::array<std::string_view, 5> kVision = {"alexnet", "shufflenet", "res18",
                                                       "mobilenet", "res50"};
  constexpr std::array<std::string_view, 4> kLanguage = {"gnmt", "lstm", "transformer", "bert"};
  constexpr std::array<std::string_view, 2> kSpeech = {"deepspeech", "m5"};
  Random random(seed ^ (0x5851f42d4c957f2dU * (position + 1)));
  const double kind = random.Uniform(), which = random.Uniform();
  const auto pick = [which](const auto& list) {
    return list[static_cast<std::size_t>(which * static_cast<double>(list.size()))];
  };
  return kind < 0.2 ? pick(kVision) : kind < 0.9 ? pick(kLanguage) : pick(kSpeech);
}

Result<Trace> Assign(std::vector<Record> records, const AssignOptions& options) {
  std::stable_sort(records.begin(), records.end(),
                   [](const Record& a, const Record& b) { return a.arrival_s < b.arrival_s; });
  Trace trace;
  trace.jobs.reserve(records.size());
  Datasets datasets(trace, options.private_datasets);
  for (std::size_t i = 0; i < records.size(); ++i) {
    Record& record = records[i];
    Job job;
    job.model = record.model.empty() ? std::string(DrawModel(options.seed, i)) : record.model;
    const ModelProfile& profile = ProfileOf(job.model);
    job.id = std::move(record.id);
    job.tenant = std::move(record.tenant);
    job.arrival_s = record.arrival_s;
    job.gpus = record.gpus;
    job.priority = record.priority;
    job.separable = options.all_separable || record.separable.value_or(profile.separable);
    job.batch = record.batch.value_or(profile.batch) * record.gpus;
    job.ramp = std::move(record.ramp);
    HR_RETURN_IF_ERROR(AddTimes(record, profile, options, job));
    HR_RETURN_IF_ERROR(
        datasets.Add(record, record.dataset.empty() ? profile.dataset : record.dataset, job));
    job.sent_bytes = record.sent_bytes.value_or(job.sample_bytes);
    trace.jobs.push_back(std::move(job));
  }
  return trace;
}

}  // namespace headrace::simulate
