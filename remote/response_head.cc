#include "remote/response_head.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>

#include "remote/store.h"
#include "remote/text.h"

namespace headrace::remote {
namespace {

std::optional<std::uint64_t> Number(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

// What follows the tag up to the next one, where that is near; else nothing.
std::string_view WordIn(std::string_view body, std::string_view tag) {
  const std::size_t begin = body.find(tag);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = body.substr(begin + tag.size(), 64);
  const std::size_t end = rest.find('<');
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

bool IsPrintable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

void ResponseHead::Read(std::string_view line) {
  if (line.starts_with("HTTP/")) {
    *this = ResponseHead();
    tells_its_end = !line.starts_with("HTTP/1");
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos) {
      status = static_cast<int>(Number(line.substr(space + 1, 3)).value_or(0));
    }
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const std::string_view value = Trimmed(line.substr(colon + 1));
  if (name == "content-length") {
    length = Number(value);
  } else if (name == "content-range" && value.starts_with("bytes ")) {
    // "bytes 0-9/100", "bytes */100"
    const std::size_t slash = value.find('/');
    if (slash == std::string_view::npos) return;
    whole = Number(value.substr(slash + 1));
    const std::string_view range = value.substr(6, slash - 6);
    first = Number(range.substr(0, range.find('-')));
  } else if (name == "etag") {
    if (value.size() > 2 && value.starts_with('"') && value.ends_with('"') && IsPrintable(value)) {
      etag = value;
    }
  } else if (name == "x-amz-version-id") {
    if (value != "null") version = value;
  } else if (name == "accept-ranges") {
    takes_ranges = value != "none";
  } else if (name == "transfer-encoding") {
    tells_its_end = value == "chunked";
  } else if (name == "retry-after") {
    if (const auto seconds = Number(value); seconds && *seconds < 86'400) {
      retry_after = std::chrono::seconds(*seconds);
    }
  } else if (name == "date") {
    const std::time_t date = curl_getdate(std::string(value).c_str(), nullptr);
    if (date >= 0) date_millis = std::int64_t{1000} * date;
  } else if (name == "location") {
    location = value;
  } else if (name == "x-amz-bucket-region") {
    if (IsRegion(value)) region = value;
  } else if (name == "x-goog-stored-content-encoding") {
    unpacked = value != "identity";
    if (unpacked) checksum.reset();
  } else if (auto found = Checksum::OfHeader(name, value); found && !unpacked) {
    checksum = std::move(found);
  }
}

std::string ErrorCode(std::string_view body) {
  const std::string_view code = WordIn(body, "<Code>");
  const bool plain = std::ranges::all_of(
      code, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
  return plain ? std::string(code) : std::string();
}

std::string ErrorRegion(std::string_view body) {
  const std::string_view region = WordIn(body, "<Region>");
  return IsRegion(region) ? std::string(region) : std::string();
}

}  // namespace headrace::remote
