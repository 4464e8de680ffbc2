#include "dataworker/stage/object_ask.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

#include "dataworker/stage/stage_request.h"

namespace headrace::dataworker {
namespace {

constexpr std::size_t kNumbers = 5, kTexts = 8;

// What lies between zero bytes.
std::vector<std::string> BetweenZeros(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

}  // namespace

Result<ObjectAsk> ObjectAsk::Read(const StageFrame& frame) {
  if (frame.kind != StageMessage::kObject || frame.parts.size() != 1 + kTexts ||
      frame.parts[0].size() != kNumbers * sizeof(std::uint64_t)) {
    return InvalidArgument("a frame that asks for no object");
  }
  const std::vector<std::uint64_t> numbers = StageNumbers(frame.parts[0]);
  if (numbers[0] > static_cast<std::uint64_t>(What::kDecode)) {
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

std::vector<std::string> ObjectAsk::Names() const {
  std::vector<std::string> names = BetweenZeros(name);
  std::erase(names, "");
  return names;
}

std::vector<std::int64_t> ObjectAsk::Keys() const {
  std::vector<std::int64_t> keys;
  const char* const end = version.data() + version.size();
  for (const char* at = version.data(); at < end;) {
    const auto [after, error] = std::from_chars(at, end, keys.emplace_back());
    if (error != std::errc()) {
      keys.pop_back();
      break;
    }
    at = after == end ? end : after + 1;
  }
  return keys;
}

Result<ObjectAsk::Decoding> ObjectAsk::DecodingOf(std::uint64_t most_as) const {
  // Samples of a lane: more than any has, and far from where sums overflow.
  constexpr std::int64_t kMostSamples = std::int64_t{1} << 60;
  const std::vector<std::int64_t> keys = Keys();
  if (keys.size() != 3 || keys[0] < 0 || keys[0] > kMostSamples || keys[1] < 1 ||
      static_cast<std::uint64_t>(keys[1]) > most_as || (keys[2] != 0 && keys[2] != 1)) {
    return InvalidArgument("a question about pictures that says something else");
  }
  return Decoding{keys[0], static_cast<std::uint64_t>(keys[1]), keys[2] == 1};
}

ObjectAsk::FromFiles ObjectAsk::LeavesOfFiles() const {
  const std::vector<std::int64_t> said = Keys();
  if (said.size() != 4 || std::ranges::any_of(said, [](std::int64_t one) { return one < 0; })) {
    return {};
  }
  const auto number = [&](std::size_t at) { return static_cast<std::uint64_t>(said[at]); };
  return {number(0), number(1), number(2), number(3)};
}

std::vector<ObjectAsk::Opened> ObjectAsk::WasOpened() const {
  std::vector<Opened> opened;
  std::vector<std::string> parts = BetweenZeros(token);
  for (std::size_t at = 0; at < parts.size(); ++at) {
    Opened one;
    const std::string& key = parts[at];
    const auto [after, error] = std::from_chars(key.data(), key.data() + key.size(), one.key);
    const bool is_key = error == std::errc() && after == key.data() + key.size();
    while (++at < parts.size() && !parts[at].empty()) one.names.push_back(std::move(parts[at]));
    if (is_key) opened.push_back(std::move(one));
  }
  return opened;
}

}  // namespace headrace::dataworker
