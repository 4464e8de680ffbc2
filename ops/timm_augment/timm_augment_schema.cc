#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "ops/core/op_registry.h"
#include "ops/timm_augment/timm_augment.h"
#include "ops/vision/geometry/affine_args.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

using Config = TimmAugmentSchema::Config;

constexpr std::int64_t kMostTimmOps = 10000;
constexpr std::int64_t kMostLayers = 100;
constexpr double kMostMagnitude = 1000;

bool IsMagnitude(double value) { return value >= 0 && value <= kMostMagnitude; }

Status ReadTimmOps(const OpArgs& args, Config* config) {
  const std::vector<std::int64_t> ops = args.Ints("ops");
  const std::vector<double> probabilities = args.Numbers("probabilities");
  const std::vector<double> magnitudes = args.Numbers("magnitudes");
  if (ops.empty() || std::ssize(ops) > kMostTimmOps || probabilities.size() != ops.size() ||
      magnitudes.size() != ops.size()) {
    return InvalidArgument("ops, probabilities and magnitudes are not alike in number");
  }
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i] < 0 || ops[i] >= kTimmOps) return Unsupported("operation " + std::to_string(ops[i]));
    if (!(std::abs(probabilities[i]) <= kMostMagnitude) || !IsMagnitude(magnitudes[i])) {
      return Unsupported("a probability or a magnitude out of range");
    }
    config->ops.push_back({static_cast<TimmOp>(ops[i]), probabilities[i], magnitudes[i]});
  }
  return Status::Ok();
}

// AutoAugment has policies; RandAugment has layers.
Status ReadChoice(const OpArgs& args, Config* config) {
  const std::int64_t ops = std::ssize(config->ops);
  if (args.Has("policies") == args.Has("num_layers")) {
    return InvalidArgument("either policies or num_layers");
  }
  const bool from_numpy = args.Has("choices_from") && args.Text("choices_from") == "numpy";
  if (from_numpy != args.Has("num_layers")) {
    return Unsupported("layers are chosen from NumPy's generator, and policies from Python's");
  }
  if (args.Has("policies")) {
    config->policies = args.Ints("policies");
    const auto empty = [](std::int64_t count) { return count < 1 || count > kMostLayers; };
    if (config->policies.empty() || std::ranges::any_of(config->policies, empty) ||
        std::reduce(config->policies.begin(), config->policies.end()) != ops) {
      return Unsupported("policies are not of 1..100 operations each");
    }
    return Status::Ok();
  }
  config->layers = args.Int("num_layers");
  if (config->layers < 0 || config->layers > kMostLayers) {
    return Unsupported("num_layers is not in 0..100");
  }
  if (!args.Has("weights")) return Status::Ok();
  config->weights = args.Numbers("weights");
  const auto positive = std::ranges::count_if(config->weights, [](double w) { return w > 0; });
  if (std::ssize(config->weights) != ops ||
      !std::ranges::all_of(config->weights, [](double w) { return w >= 0 && w <= 1; })) {
    return InvalidArgument("weights are no probabilities of the operations");
  }
  if (positive < config->layers) return InvalidArgument("Fewer non-zero entries in p than size");
  return Status::Ok();
}

Status ReadMagnitudes(const OpArgs& args, Config* config) {
  config->std = args.Number("magnitude_std");
  config->uniform = args.Bool("uniform");
  config->most_magnitude = args.Number("magnitude_max");
  config->levels = {args.Number("translate_const"), args.Number("translate_pct")};
  config->least_bits = args.Int("least_bits");
  if (!IsMagnitude(config->std) || !IsMagnitude(config->most_magnitude) ||
      !(std::abs(config->levels.translate_pixels) <= kMostMagnitude) ||
      !(std::abs(config->levels.translate_part) <= kMostMagnitude)) {
    return Unsupported("magnitudes out of range");
  }
  return Status::Ok();
}

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsPilImage(context));
  HR_TRY(const bool from_python, ReadFromPython(args));
  if (!from_python) return Unsupported("torch's generator, from which timm does not draw");
  Config config;
  HR_RETURN_IF_ERROR(ReadTimmOps(args, &config));
  HR_RETURN_IF_ERROR(ReadChoice(args, &config));
  HR_RETURN_IF_ERROR(ReadMagnitudes(args, &config));
  HR_TRY(const AffineArgs affine, ReadPilArgs(args, InputOf(context)));
  config.fill = affine.fill;
  config.ways = {affine.interpolation};
  if (args.Bool("random_interpolation")) {
    config.ways = {Interpolation::kBilinear, Interpolation::kBicubic};
  }
  return MakeSchema<TimmAugmentSchema>(std::move(config));
}

}  // namespace

TimmAugmentSchema::TimmAugmentSchema(Config config)
    : config_(std::move(config)),
      steps_(config_.policies.empty() ? config_.layers : std::ranges::max(config_.policies)) {}

// Source: timm/data/auto_augment.py, AugmentOp.__call__.
Status TimmAugmentSchema::DrawStep(const Op& op, const ImageSpec& in, PythonGenerator& rng,
                                   MutableParams words) const {
  TimmStep step;
  if (op.probability < 1.0 && rng.Random() > op.probability) return Status::Ok();
  double magnitude = op.magnitude;
  if (config_.uniform) {
    magnitude = rng.Uniform(0, magnitude);
  } else if (config_.std > 0) {
    magnitude = rng.Gauss(magnitude, config_.std);
  }
  const double level = std::max(0.0, std::min(magnitude, config_.most_magnitude));
  step.happens = true;
  step.op = op.op;
  step.value = TimmArgument(op.op, level, config_.levels, in, rng);
  if (step.op >= TimmOp::kPosterize && step.op <= TimmOp::kPosterizeOriginal) {
    if (step.value < static_cast<double>(config_.least_bits)) {
      return Unsupported("Pillow posterizes to no fewer bits than " +
                         std::to_string(config_.least_bits));
    }
    step.value = std::clamp(step.value, 0.0, 8.0);
  }
  if (step.moves()) {
    const auto ways = static_cast<std::uint32_t>(config_.ways.size());
    step.way = config_.ways[ways > 1 ? rng.Below(ways) : 0];
  }
  if (step.op == TimmOp::kRotate) {
    const PilTurn turn = PilTurnOf(step.value);
    step.value = turn.cosine;
    step.sine = turn.sine;
  }
  step.Write(words);
  return Status::Ok();
}

Status TimmAugmentSchema::DrawImageFromPython(const ImageSpec& in, PythonGenerator& rng,
                                              MutableParams params, ImageSpec* out) const {
  std::ranges::fill(params, 0);
  const auto chosen = rng.Below(static_cast<std::uint32_t>(config_.policies.size()));
  const auto before = config_.policies.begin() + chosen;
  const std::int64_t first = std::reduce(config_.policies.begin(), before);
  for (std::int64_t i = 0; i < *before; ++i) {
    HR_RETURN_IF_ERROR(
        DrawStep(config_.ops[static_cast<std::size_t>(first + i)], in, rng,
                 params.subspan(static_cast<std::size_t>(i) * TimmStep::kWords, TimmStep::kWords)));
  }
  return Shape(in, out);
}

Status TimmAugmentSchema::DrawImageFromNumpy(const ImageSpec& in, PythonGenerator& python,
                                             NumpyGenerator& numpy, MutableParams params,
                                             ImageSpec* out) const {
  std::ranges::fill(params, 0);
  std::vector<std::uint32_t> chosen(static_cast<std::size_t>(config_.layers));
  if (config_.weights.empty()) {
    numpy.Choose(static_cast<std::uint32_t>(config_.ops.size()), chosen);
  } else {
    numpy.ChooseWeighted(config_.weights, chosen);
  }
  for (const std::uint32_t number : chosen) {
    HR_RETURN_IF_ERROR(DrawStep(config_.ops[number], in, python, params.first(TimmStep::kWords)));
    params = params.subspan(TimmStep::kWords);
  }
  return Shape(in, out);
}

void RegisterSchemaTimmAugment(SchemaRegistry& registry) {
  std::vector<ArgSpec> args = {
      ArgSpec{
          "ops", ArgType::kInts, std::nullopt,
          "operations by timm's names: 0 AutoContrast, 1 Equalize, 2 Invert, 3 Rotate, 4 "
          "Posterize, 5 "
          "PosterizeIncreasing, 6 PosterizeOriginal, 7 Solarize, 8 SolarizeIncreasing, 9 "
          "SolarizeAdd, "
          "10 Color, 11 ColorIncreasing, 12 Contrast, 13 ContrastIncreasing, 14 Brightness, 15 "
          "BrightnessIncreasing, 16 Sharpness, 17 SharpnessIncreasing, 18 ShearX, 19 ShearY, 20 "
          "TranslateX, 21 TranslateY, 22 TranslateXRel, 23 TranslateYRel",
          true}
          .In(0, kTimmOps - 1),
      ArgSpec{"probabilities", ArgType::kNumbers, std::nullopt, "of each operation", true}.In(
          -kMostMagnitude, kMostMagnitude),
      ArgSpec{"magnitudes", ArgType::kNumbers, std::nullopt, "of each operation", true}.In(
          0, kMostMagnitude),
      ArgSpec{"policies", ArgType::kInts, std::nullopt,
              "AutoAugment: how many of the operations each policy has"}
          .In(1, kMostLayers),
      ArgSpec{"num_layers", ArgType::kInt, std::nullopt,
              "RandAugment: how many operations are chosen"}
          .In(0, kMostLayers),
      ArgSpec{"weights", ArgType::kNumbers, std::nullopt,
              "of RandAugment's operations, which are then chosen without replacement"}
          .In(0, 1),
      ArgSpec{"choices_from", ArgType::kText, std::nullopt,
              "numpy: RandAugment's operations are chosen from NumPy's legacy generator"}
          .OneOf({"numpy"}),
      ArgSpec{"magnitude_std", ArgType::kNumber, std::int64_t{0},
              "of magnitudes that random.gauss draws"}
          .In(0, kMostMagnitude),
      {"uniform", ArgType::kBool, std::int64_t{0}, "magnitudes are drawn from 0 to their own"},
      ArgSpec{"magnitude_max", ArgType::kNumber, std::int64_t{10}, "largest magnitude"}.In(
          0, kMostMagnitude),
      ArgSpec{"translate_const", ArgType::kNumber, std::int64_t{250},
              "pixels that TranslateX and TranslateY move by at magnitude 10"}
          .In(-kMostMagnitude, kMostMagnitude)
          .Unit("pixels"),
      ArgSpec{"translate_pct", ArgType::kNumber, 0.45,
              "part of the side that TranslateXRel and TranslateYRel move by at magnitude 10"}
          .In(-kMostMagnitude, kMostMagnitude),
      {"least_bits", ArgType::kInt, std::int64_t{0},
       "fewest bits to which the client's Pillow posterizes: with fewer it raises"},
      {"random_interpolation", ArgType::kBool, std::int64_t{0},
       "bilinear or bicubic, drawn for each operation that moves pixels"},
      GeneratorArg()};
  for (ArgSpec& arg : PilArgSpecs()) args.push_back(std::move(arg));
  registry.Add({.name = "timm_augment",
                .doc = "timm's RandAugment and AutoAugment of PIL images.",
                .args = std::move(args),
                .classes = {"timm.AutoAugment", "timm.RandAugment"},
                .draws = "Python: the policy, whether each operation happens, and its magnitude "
                         "and sign; NumPy: the operations of RandAugment"},
               Make);
}

}  // namespace headrace::ops
