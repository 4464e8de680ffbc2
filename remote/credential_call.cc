#include "remote/credential_call.h"

#include <array>
#include <ctime>
#include <nlohmann/json.hpp>

#include "remote/text.h"

namespace headrace::remote {
namespace {

using Kind = CredentialCall::Kind;

std::string Variable(const CredentialPlaces& places, const char* name) {
  return places.variable(name).value_or("");
}

// A file with one word, such as a token.
Result<std::string> WordOf(const CredentialPlaces& places, const std::string& path) {
  const std::optional<std::string> text = places.file(path);
  if (!text) return InvalidArgument("cannot read the token in " + path);
  std::string word(Trimmed(*text));
  for (const char c : word) {
    if (c < ' ' || c > '~') return InvalidArgument(path + " holds no token");
  }
  if (word.empty()) return InvalidArgument(path + " holds no token");
  return word;
}

Result<CredentialCall> WebIdentityCall(const CredentialPlaces& places, const std::string& file) {
  const std::string role = Variable(places, "AWS_ROLE_ARN");
  if (role.empty()) {
    return InvalidArgument("AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not");
  }
  HR_TRY(const std::string token, WordOf(places, file));
  std::string endpoint = Variable(places, "AWS_ENDPOINT_URL_STS");
  if (endpoint.empty()) {
    std::string region = Variable(places, "AWS_REGION");
    if (region.empty()) region = Variable(places, "AWS_DEFAULT_REGION");
    const std::string top = region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
    endpoint = "https://sts" + (region.empty() ? "" : "." + region) + top;
  }
  CredentialCall call{.kind = Kind::kWebIdentity, .place = "the web identity of " + file};
  HR_TRY(call.url, ObjectUrl::Parse(endpoint));
  std::string session = Variable(places, "AWS_ROLE_SESSION_NAME");
  if (session.empty()) session = "headrace";
  call.headers = {"Content-Type: application/x-www-form-urlencoded"};
  call.body =
      "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=" + PercentEncode(role, false) +
      "&RoleSessionName=" + PercentEncode(session, false) +
      "&WebIdentityToken=" + PercentEncode(token, false);
  return call;
}

// Hosts that answer a container without TLS: this one, and those of ECS and EKS.
bool AnswersContainers(const std::string& host) {
  constexpr std::array kHosts = {"localhost",     "127.0.0.1",      "::1",
                                 "169.254.170.2", "169.254.170.23", "fd00:ec2::23"};
  for (const char* known : kHosts) {
    if (host == known) return true;
  }
  return false;
}

Result<CredentialCall> ContainerCall(const CredentialPlaces& places, const std::string& url) {
  CredentialCall call{.kind = Kind::kContainer, .place = "the host of this container"};
  HR_TRY(call.url, ObjectUrl::Parse(url));
  if (!call.url.tls && !AnswersContainers(call.url.host)) {
    return InvalidArgument("AWS_CONTAINER_CREDENTIALS_FULL_URI leads to " + call.url.host +
                           " without TLS");
  }
  std::string token = Variable(places, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
  const std::string file = Variable(places, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  if (!file.empty()) {
    HR_TRY(token, WordOf(places, file));
  }
  if (token.find_first_of("\r\n") != std::string::npos) {
    return InvalidArgument("AWS_CONTAINER_AUTHORIZATION_TOKEN holds no token");
  }
  if (!token.empty()) call.headers = {"Authorization: " + token};
  return call;
}

// The text of the first <name> in XML that has no escapes there. Empty: there is none.
std::string_view Element(std::string_view xml, std::string_view name) {
  const std::string opening = "<" + std::string(name) + ">";
  const std::size_t begin = xml.find(opening);
  if (begin == std::string_view::npos) return {};
  xml.remove_prefix(begin + opening.size());
  const std::size_t end = xml.find('<');
  return end == std::string_view::npos ? std::string_view() : Trimmed(xml.substr(0, end));
}

std::string Member(const nlohmann::json& answer, const char* name) {
  const auto at = answer.find(name);
  return at != answer.end() && at->is_string() ? at->get<std::string>() : "";
}

// Of ISO 8601 in UTC; nullopt: it is none.
std::optional<std::int64_t> MillisOf(const std::string& time) {
  std::tm parts{};
  const char* const rest = ::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr || (*rest != 'Z' && *rest != '.' && *rest != '+')) return std::nullopt;
  return std::int64_t{1000} * ::timegm(&parts);
}

}  // namespace

std::optional<Result<CredentialCall>> FindWebIdentityCall(const CredentialPlaces& places) {
  const std::string file = Variable(places, "AWS_WEB_IDENTITY_TOKEN_FILE");
  if (file.empty()) return std::nullopt;
  return WebIdentityCall(places, file);
}

std::optional<Result<CredentialCall>> FindContainerCall(const CredentialPlaces& places) {
  const std::string path = Variable(places, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (!path.empty()) return ContainerCall(places, "http://169.254.170.2" + path);
  const std::string url = Variable(places, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!url.empty()) return ContainerCall(places, url);
  return std::nullopt;
}

Result<Credentials> ReadCredentialAnswer(const CredentialCall& call, std::string_view answer) {
  Credentials read;
  std::string expires;
  if (call.kind == Kind::kWebIdentity) {
    read = {std::string(Element(answer, "AccessKeyId")),
            std::string(Element(answer, "SecretAccessKey")),
            std::string(Element(answer, "SessionToken"))};
    expires = Element(answer, "Expiration");
  } else {
    const nlohmann::json object = nlohmann::json::parse(answer, nullptr, false);
    if (object.is_object()) {
      read = {Member(object, "AccessKeyId"), Member(object, "SecretAccessKey"),
              Member(object, "Token")};
      expires = Member(object, "Expiration");
    }
  }
  if (read.key_id.empty() || read.secret.empty() || !IsPlain(read)) {
    return InvalidArgument(call.place + " answered without credentials");
  }
  if (!expires.empty()) {
    const std::optional<std::int64_t> millis = MillisOf(expires);
    if (!millis) return InvalidArgument(call.place + " answered with a date that is none");
    read.expires_millis = *millis;
  }
  return read;
}

}  // namespace headrace::remote
