#include "dataworker/stage/object_ask.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "dataworker/stage/stage_request.h"

namespace headrace::dataworker {
namespace {

constexpr std::size_t kNumbers = 5, kTexts = 8;

}  // namespace

Result<ObjectAsk> ObjectAsk::Read(const StageFrame& frame) {
  if (frame.kind != StageMessage::kObject || frame.parts.size() != 1 + kTexts ||
      frame.parts[0].size() != kNumbers * sizeof(std::uint64_t)) {
    return InvalidArgument("a frame that asks for no object");
  }
  const std::vector<std::uint64_t> numbers = StageNumbers(frame.parts[0]);
  if (numbers[0] > static_cast<std::uint64_t>(What::kLeafCounts)) {
    return InvalidArgument("a question of unknown kind " + std::to_string(numbers[0]));
  }
  const auto text = [&](std::size_t at) { return std::string(AsText(frame.parts[1 + at])); };
  ObjectAsk ask{.what = static_cast<What>(numbers[0]),
                .first = numbers[1],
                .bytes = numbers[2],
                .store = {.base = text(0),
                          .endpoint = text(1),
                          .region = text(2),
                          .addressing = text(3),
                          .anonymous = numbers[3] != 0},
                .name = text(4),
                .version = text(5),
                .size = numbers[4],
                .delimiter = text(6),
                .token = text(7)};
  const bool has_bytes = ask.what == What::kRange || ask.what == What::kWhole;
  if (has_bytes && (ask.bytes == 0 || ask.bytes > kMostBytes)) {
    return InvalidArgument("a question for " + std::to_string(ask.bytes) + " bytes");
  }
  return ask;
}

}  // namespace headrace::dataworker
