#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

// Objects in stores that are reached by HTTP: docs/adr/0054-objects.md.
namespace headrace::remote {

// Where objects lie, as a program or a plan says it. It holds no secret. GCS ("gs://") is spoken to by
// its interface for programs that know S3.
struct StoreSpec {
  std::string base;        // "s3://bucket/prefix", "gs://bucket/prefix" or "https://host/path"
  std::string endpoint;    // of a bucket: "https://host[:port]"; empty: AWS in the region, or GCS
  std::string region;      // of a bucket; empty: us-east-1, or "auto" for GCS
  std::string addressing;  // of a bucket: "path", "virtual"; empty: "virtual" for AWS, else "path"
  bool anonymous = false;  // of a bucket: requests are not signed

  friend bool operator==(const StoreSpec&, const StoreSpec&) = default;
};

// One request's URL in parts, encoded as it is sent and signed.
struct ObjectUrl {
  bool tls = true;
  std::string host;  // without the brackets of an IPv6 address
  std::uint16_t port = 443;
  std::string path;   // begins with "/"
  std::string query;  // sorted; empty: none

  // "host" or "host:port" as the Host header has it.
  [[nodiscard]] std::string Authority() const;
  // For people and identities: without the query.
  [[nodiscard]] std::string Name() const;
  [[nodiscard]] std::string Text() const { return query.empty() ? Name() : Name() + "?" + query; }

  // kInvalidArgument: not http or https, with a user or a fragment, or damaged. What is not encoded
  // stays so.
  static Result<ObjectUrl> Parse(std::string_view text);
};

// Percent-encodes all but unreserved characters (RFC 3986) and, if asked to, "/".
[[nodiscard]] std::string PercentEncode(std::string_view text, bool keep_slashes);

// Letters, digits and hyphens, few enough: it may become a part of a host's name.
[[nodiscard]] bool IsRegion(std::string_view text);

// Makes URLs of names. Immutable; thread-safe.
class Store {
 public:
  // kInvalidArgument: says what is wrong with which part.
  static Result<Store> Make(const StoreSpec& spec);

  // The base with one "/" at its end; all names begin with it.
  [[nodiscard]] const std::string& base() const { return base_; }
  // It has buckets, and speaks as S3 does.
  [[nodiscard]] bool s3() const { return s3_; }
  // Its answers have checksums if they are asked for.
  [[nodiscard]] bool asks_for_checksums() const { return s3_ && !gcs_; }
  // Requests are to be signed.
  [[nodiscard]] bool is_signed() const { return s3_ && !anonymous_; }
  [[nodiscard]] const std::string& region() const { return region_; }
  [[nodiscard]] const std::string& bucket() const { return bucket_; }

  // The URL of an object. `name`: the base and what follows it, not encoded. kInvalidArgument: another
  // base, or a part of the name is "." or "..", by which servers leave the base.
  [[nodiscard]] Result<ObjectUrl> UrlOf(std::string_view name) const;
  // The URL of the bucket itself. REQUIRES: s3(). `query` is encoded and sorted.
  [[nodiscard]] ObjectUrl BucketUrl(std::string query) const;
  // One of its URLs, as it is where the bucket lies in this region: AWS has a host for each.
  [[nodiscard]] ObjectUrl InRegion(ObjectUrl url, const std::string& region) const;

 private:
  Store() = default;

  std::string base_;
  bool s3_ = false;
  bool gcs_ = false;
  bool anonymous_ = false;
  bool aws_ = false;  // its host is that of its region
  std::string region_;
  std::string bucket_;
  ObjectUrl root_;             // its path ends with "/"
  std::size_t root_size_ = 0;  // of the names: "s3://bucket/", "https://host/"
};

}  // namespace headrace::remote
