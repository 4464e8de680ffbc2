#include "remote/store.h"

#include <algorithm>
#include <charconv>

namespace headrace::remote {
namespace {

constexpr std::string_view kS3 = "s3://";
constexpr std::string_view kGcs = "gs://";
constexpr std::string_view kGcsHost = "storage.googleapis.com";
constexpr std::size_t kLongestRegion = 40;

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool AllOf(std::string_view text, std::string_view others) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return IsLetterOrDigit(c) || others.find(c) != std::string_view::npos;
  });
}

std::string Quoted(std::string_view text) { return std::string("'").append(text).append("'"); }

// A "." or ".." between slashes.
bool HasDots(std::string_view path) {
  while (true) {
    const std::size_t end = path.find('/');
    const std::string_view part = path.substr(0, end);
    if (part == "." || part == "..") return true;
    if (end == std::string_view::npos) return false;
    path.remove_prefix(end + 1);
  }
}

std::string AwsHost(const std::string& region) {
  return "s3." + region + (region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com");
}

bool IsAddress(std::string_view host) {
  return host.find(':') != std::string_view::npos ||
         std::ranges::all_of(host, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

}  // namespace

std::string PercentEncode(std::string_view text, bool keep_slashes) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (IsLetterOrDigit(c) || c == '-' || c == '.' || c == '_' || c == '~' ||
        (c == '/' && keep_slashes)) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += '%';
      encoded += kDigits[byte >> 4];
      encoded += kDigits[byte & 15];
    }
  }
  return encoded;
}

bool IsRegion(std::string_view text) { return text.size() <= kLongestRegion && AllOf(text, "-"); }

std::string ObjectUrl::Authority() const {
  std::string text = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (port != (tls ? 443 : 80)) text.append(":").append(std::to_string(port));
  return text;
}

std::string ObjectUrl::Name() const {
  return std::string(tls ? "https://" : "http://").append(Authority()).append(path);
}

Result<ObjectUrl> ObjectUrl::Parse(std::string_view text) {
  const auto wrong = [&](const char* why) {
    // Without its query and its user: both may be secrets.
    const std::string_view shown = text.substr(0, text.find_first_of("?#"));
    const bool has_user = shown.find('@') != std::string_view::npos;
    return InvalidArgument((has_user ? std::string("a URL") : Quoted(shown)) + " " + why);
  };
  ObjectUrl url;
  if (text.starts_with("https://")) {
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    text.remove_prefix(7);
    url.tls = false;
    url.port = 80;
  } else {
    return wrong("begins with neither https:// nor http://");
  }
  if (std::ranges::any_of(text, [](char c) { return c >= 0 && (c <= ' ' || c == 0x7f); })) {
    return wrong("holds spaces or control characters");
  }
  if (text.find('#') != std::string_view::npos) return wrong("has a fragment");
  const std::size_t query = text.find('?');
  if (query != std::string_view::npos) url.query = text.substr(query + 1);
  text = text.substr(0, query);
  const std::size_t slash = text.find('/');
  url.path = slash == std::string_view::npos ? "/" : std::string(text.substr(slash));
  std::string_view authority = text.substr(0, slash);
  if (authority.find('@') != std::string_view::npos) return wrong("names a user");
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return wrong("has no host");
    url.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
    if (!AllOf(url.host, ":.")) return wrong("has no host");
  } else {
    const std::size_t colon = authority.find(':');
    url.host = authority.substr(0, colon);
    port = colon == std::string_view::npos ? "" : authority.substr(colon);
    if (!AllOf(url.host, ".-_")) return wrong("has no host");
  }
  if (!port.empty()) {
    const char* const end = port.data() + port.size();
    const auto read = std::from_chars(port.data() + 1, end, url.port);
    if (port[0] != ':' || read.ec != std::errc() || read.ptr != end || url.port == 0) {
      return wrong("has no port");
    }
  }
  std::ranges::transform(url.host, url.host.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return url;
}

Result<Store> Store::Make(const StoreSpec& spec) {
  Store store;
  store.base_ = spec.base;
  if (!store.base_.ends_with('/')) store.base_ += '/';
  store.anonymous_ = spec.anonymous;
  const bool gcs = spec.base.starts_with(kGcs);
  if (!gcs && !spec.base.starts_with(kS3)) {
    if (!spec.endpoint.empty() || !spec.region.empty() || !spec.addressing.empty()) {
      return InvalidArgument("endpoint, region and addressing belong to s3:// and gs:// alone");
    }
    HR_TRY(store.root_, ObjectUrl::Parse(store.base_));
    if (!store.root_.query.empty()) return InvalidArgument("the base of objects has a query");
    if (HasDots(store.root_.path)) return InvalidArgument(store.base_ + " has a part '.' or '..'");
    store.root_size_ = store.base_.find('/', store.base_.find("://") + 3) + 1;
    store.root_.path = "/";
    return store;
  }
  store.s3_ = true;
  store.gcs_ = gcs;
  static_assert(kS3.size() == kGcs.size());
  const std::string_view rest = std::string_view(store.base_).substr(kS3.size());
  store.bucket_ = rest.substr(0, rest.find('/'));
  if (!AllOf(store.bucket_, ".-_") || HasDots(store.bucket_)) {
    return InvalidArgument(Quoted(store.base_) + " names no bucket");
  }
  store.root_size_ = kS3.size() + store.bucket_.size() + 1;
  store.region_ = !spec.region.empty() ? spec.region : gcs ? "auto" : "us-east-1";
  if (!AllOf(store.region_, "-_")) {
    return InvalidArgument(Quoted(store.region_) + " is no region");
  }
  store.aws_ = spec.endpoint.empty() && !gcs;
  if (store.aws_) {
    store.root_.host = AwsHost(store.region_);
  } else if (spec.endpoint.empty()) {
    store.root_.host = kGcsHost;
  } else {
    HR_TRY(store.root_, ObjectUrl::Parse(spec.endpoint));
    if (store.root_.path != "/" || !store.root_.query.empty()) {
      return InvalidArgument(store.root_.Name() + " is no endpoint: it has a path or a query");
    }
  }
  if (spec.addressing != "" && spec.addressing != "path" && spec.addressing != "virtual") {
    return InvalidArgument("addressing is '" + spec.addressing + "', not 'path' or 'virtual'");
  }
  // A certificate for *.host does not cover a bucket with dots.
  const bool possible = store.bucket_.find_first_of("._") == std::string::npos;
  const bool in_host =
      spec.addressing == "virtual" || (spec.addressing.empty() && store.aws_ && possible);
  if (in_host && IsAddress(store.root_.host)) {
    return InvalidArgument("addressing 'virtual' needs an endpoint with a name");
  }
  store.root_.path = "/";
  if (in_host) {
    store.root_.host = store.bucket_ + "." + store.root_.host;
  } else {
    store.root_.path += store.bucket_ + "/";
  }
  return store;
}

Result<ObjectUrl> Store::UrlOf(std::string_view name) const {
  if (!name.starts_with(base_)) {
    return InvalidArgument(Quoted(name) + " is no object below " + base_);
  }
  const std::string_view key = name.substr(root_size_);
  if (HasDots(key)) {
    return InvalidArgument(Quoted(name) + " has a part '.' or '..'");
  }
  ObjectUrl url = root_;
  url.path += PercentEncode(key, /*keep_slashes=*/true);
  return url;
}

ObjectUrl Store::InRegion(ObjectUrl url, const std::string& region) const {
  const std::string ours = AwsHost(region_);
  if (aws_ && url.host.ends_with(ours)) {
    url.host.replace(url.host.size() - ours.size(), ours.size(), AwsHost(region));
  }
  return url;
}

ObjectUrl Store::BucketUrl(std::string query) const {
  ObjectUrl url = root_;
  if (url.path.size() > 1) url.path.pop_back();
  url.query = std::move(query);
  return url;
}

}  // namespace headrace::remote
