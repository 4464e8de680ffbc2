#include "simulate/generate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "simulate/random.h"
#include "simulate/trace/record.h"

namespace headrace::simulate {
namespace {

// Rates for a GPU such as a V100, for models that are trained on data sets of SiloD's list. Input
// is more a lookup than a decode: two cores for each GPU keep up.
struct Reader {
  std::string_view model;
  std::string_view dataset;
  double rate;  // samples/s and GPU
};
constexpr std::array kReaders = {
    Reader{"resnet50", "imagenet-1k", 1000},  Reader{"resnet50", "openimages", 1000},
    Reader{"resnet50", "imagenet-22k", 1000}, Reader{"efficientnet", "imagenet-22k", 600},
    Reader{"video", "youtube-8m", 200},       Reader{"bert-web", "websearch", 500},
};
constexpr double kReaderCores = 2;

int DrawGpus(Random& random) {
  const double u = random.Uniform();
  return u < 0.70 ? 1 : u < 0.80 ? 2 : u < 0.95 ? 4 : 8;
}

}  // namespace

Result<Trace> Generate(const GenerateOptions& options) {
  if (options.jobs < 1 || options.jobs > 10'000'000 || options.gpus < 1 || !(options.load > 0) ||
      !(options.median_s > 0) || !(options.vision >= 0) || !(options.speech >= 0) ||
      options.vision + options.speech > 1) {
    return InvalidArgument(
        "expected 1 to 10,000,000 jobs, a GPU or more, a load and a duration above 0, and shares "
        "of vision and "
        "speech that are at most 1 together");
  }
  Random random(options.seed);
  constexpr double kSigma = 1.6;
  constexpr double kLongest = 30 * 86400;
  std::vector<Record> records;
  double gpu_seconds = 0;
  for (std::int64_t i = 0; i < options.jobs; ++i) {
    Record record;
    record.id = std::to_string(i);
    record.gpus = std::min(DrawGpus(random), options.gpus);
    record.arrival_s = random.Exponential(1);  // gaps; scaled to the load below
    const double duration =
        std::clamp(options.median_s * std::exp(kSigma * random.Normal()), 60.0, kLongest);
    record.duration_s = std::round(duration);
    if (options.large_datasets) {
      const auto which = static_cast<std::size_t>(random.Uniform() * kReaders.size());
      const Reader& reader = kReaders[which];
      record.model = reader.model;
      record.dataset = reader.dataset;
      record.batch = reader.rate / 10;
      record.step_s = 0.1;
      record.full_speed_cores = kReaderCores;
    } else {
      const double kind = random.Uniform(), which = random.Uniform();
      constexpr std::array<std::string_view, 5> kVision = {"alexnet", "shufflenet", "res18",
                                                           "mobilenet", "res50"};
      constexpr std::array<std::string_view, 4> kLanguage = {"gnmt", "lstm", "transformer", "bert"};
      constexpr std::array<std::string_view, 2> kSpeech = {"deepspeech", "m5"};
      const auto pick = [which](const auto& list) {
        return list[static_cast<std::size_t>(which * static_cast<double>(list.size()))];
      };
      record.model = kind < options.vision                    ? pick(kVision)
                     : kind < options.vision + options.speech ? pick(kSpeech)
                                                              : pick(kLanguage);
    }
    gpu_seconds += *record.duration_s * record.gpus;
    records.push_back(std::move(record));
  }
  const double span = gpu_seconds / options.gpus / options.load;
  const double gap = span / static_cast<double>(options.jobs);
  double now = 0;
  for (Record& record : records) {
    now += record.arrival_s * gap;
    record.arrival_s = std::round(now * 1000) / 1000;
  }
  AssignOptions assign;
  assign.private_datasets = options.private_datasets;
  HR_TRY(Trace trace, Assign(std::move(records), assign));
  trace.format = "headrace";
  return trace;
}

}  // namespace headrace::simulate
