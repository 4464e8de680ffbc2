#include "ops/core/op_registry.h"
#include "ops/random_crop/random_crop.h"
#include "ops/vision/floats.h"
#include "ops/vision/geometry/border.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  RandomCropSchema::Config config;
  HR_TRY(const int api, ReadApi(args));
  config.v2 = api == 2;
  HR_TRY(config.size, ReadSize(args, "size"));
  config.pad_if_needed = args.Bool("pad_if_needed");
  config.has_padding = args.Has("padding");
  if (config.has_padding) {
    HR_TRY(config.padding, ReadPadding(args, "padding"));
    const std::vector<std::int64_t> given = args.Ints("padding");
    if (given == std::vector<std::int64_t>{0}) config.has_padding = false;  // v2 takes it like this
  }
  if (config.has_padding || config.pad_if_needed) {
    HR_TRY(config.mode, ReadPaddingMode(args, "padding_mode"));
    if (config.mode != PaddingMode::kConstant) HR_RETURN_IF_ERROR(NeedsBytesOrFloats(context));
    HR_TRY(config.fill, ReadBorderFill(args, "fill", config.mode, api, InputOf(context)));
  }
  return MakeSchema<RandomCropSchema>(config);
}

void Add(const Padding& padding, RandomCropSchema::Pads* pads) {
  if (!padding.any()) return;
  pads->steps[static_cast<std::size_t>(pads->count++)] = padding;
  pads->total.left += padding.left;
  pads->total.top += padding.top;
  pads->total.right += padding.right;
  pads->total.bottom += padding.bottom;
}

std::string Pair(std::int64_t a, std::int64_t b) {
  return std::string("(").append(std::to_string(a)).append(", ").append(std::to_string(b)) + ")";
}

}  // namespace

RandomCropSchema::Pads RandomCropSchema::PadsFor(const ImageSpec& in) const {
  Pads pads;
  const auto missing = [&](std::int64_t crop, std::int64_t side) {
    return config_.pad_if_needed && side < crop ? crop - side : 0;
  };
  const Padding& own = config_.padding;
  const std::int64_t height = missing(config_.size.height, in.height + own.top + own.bottom);
  const std::int64_t width = missing(config_.size.width, in.width + own.left + own.right);
  if (config_.v2) {
    Add({own.left + width, own.top + height, own.right + width, own.bottom + height}, &pads);
  } else {
    Add(own, &pads);
    Add({width, 0, width, 0}, &pads);
    Add({0, height, 0, height}, &pads);
  }
  return pads;
}

Status RandomCropSchema::Shape(const ImageSpec& in, ImageSpec* out) const {
  const Pads pads = PadsFor(in);
  std::int64_t width = in.width;
  std::int64_t height = in.height;
  for (int i = 0; i < pads.count; ++i) {
    const Padding& step = pads.steps[static_cast<std::size_t>(i)];
    HR_RETURN_IF_ERROR(CheckBorder(width, step.left, step.right, config_.mode));
    HR_RETURN_IF_ERROR(CheckBorder(height, step.top, step.bottom, config_.mode));
    width += step.left + step.right;
    height += step.top + step.bottom;
  }
  if (height < config_.size.height || width < config_.size.width) {
    return InvalidArgument("Required crop size " + Pair(config_.size.height, config_.size.width) +
                           " is larger than " +
                           (config_.v2 && config_.has_padding ? "padded " : "") +
                           "input image size " + Pair(height, width));
  }
  *out = in;
  out->height = config_.size.height;
  out->width = config_.size.width;
  return Status::Ok();
}

Status RandomCropSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                                   ImageSpec* out) const {
  HR_RETURN_IF_ERROR(Shape(in, out));
  const Padding total = PadsFor(in).total;
  const std::int64_t spare_height = in.height + total.top + total.bottom - out->height;
  const std::int64_t spare_width = in.width + total.left + total.right - out->width;
  // v1 draws both or none; v2 draws for each side that has a choice.
  const bool any = spare_height > 0 || spare_width > 0;
  const bool draw_top = config_.v2 ? spare_height > 0 : any;
  const bool draw_left = config_.v2 ? spare_width > 0 : any;
  params[0] = draw_top ? static_cast<std::int32_t>(rng.RandInt(0, spare_height + 1)) : 0;
  params[1] = draw_left ? static_cast<std::int32_t>(rng.RandInt(0, spare_width + 1)) : 0;
  return Status::Ok();
}

void RegisterSchemaRandomCrop(SchemaRegistry& registry) {
  registry.Add(
      {.name = "random_crop",
       .doc = "A crop of fixed size at a random place, after padding. Negative padding: a Python "
              "stage.",
       .args = {ArgSpec{"size", ArgType::kInts, std::nullopt,
                        "side of a square, or [height, width]",
                        /*required=*/true}
                    .In(1, 1 << 20)
                    .Count({1, 2})
                    .Unit("pixels"),
                ArgSpec{"padding", ArgType::kInts, std::nullopt,
                        "all sides, [left/right, top/bottom] or [left, top, right, bottom]"}
                    .In(0, 1 << 20)
                    .Count({1, 2, 4})
                    .Unit("pixels"),
                {"pad_if_needed", ArgType::kBool, std::int64_t{0},
                 "pad images that are smaller than the crop"},
                {"fill", ArgType::kNumbers, std::int64_t{0}, "value for padding_mode constant",
                 /*required=*/false, /*only_pixels=*/true},
                PaddingModeArg(),
                ApiArg()},
       .classes = {"v1.RandomCrop", "v2.RandomCrop"},
       .draws = "torch: the first row and the first column, where there is a choice (randint)",
       .shares_draws = SharedDraws::kAnyKind},
      Make);
}

}  // namespace headrace::ops
