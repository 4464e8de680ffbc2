#include "remote/credentials.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>

#include "remote/text.h"

namespace headrace::remote {
namespace {

// The settings of one section of an INI file; nullopt: there is no such section.
std::optional<std::map<std::string, std::string, std::less<>>> Section(std::string_view text,
                                                                       std::string_view wanted) {
  std::optional<std::map<std::string, std::string, std::less<>>> found;
  bool inside = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = Trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      inside = line.back() == ']' && Trimmed(line.substr(1, line.size() - 2)) == wanted;
      if (inside && !found) found.emplace();
      continue;
    }
    const std::size_t equals = line.find('=');
    if (!inside || equals == std::string_view::npos) continue;
    (*found)[std::string(Trimmed(line.substr(0, equals)))] = Trimmed(line.substr(equals + 1));
  }
  return found;
}

Result<std::optional<Credentials>> Both(std::string key_id, std::string secret, std::string token,
                                        const std::string& place) {
  if (key_id.empty() && secret.empty()) return std::optional<Credentials>();
  if (key_id.empty() || secret.empty()) {
    return InvalidArgument(place + " has one half of the credentials");
  }
  Credentials both{std::move(key_id), std::move(secret), std::move(token)};
  if (!IsPlain(both)) return InvalidArgument(place + " has characters that no key has");
  return std::optional(std::move(both));
}

}  // namespace

bool IsPlain(const Credentials& credentials) {
  for (const std::string* part : {&credentials.key_id, &credentials.secret, &credentials.token}) {
    for (const char c : *part) {
      if (c < '!' || c > '~') return false;
    }
  }
  return true;
}

CredentialPlaces CredentialPlaces::OfProcess() {
  return {.variable = [](const char* name) -> std::optional<std::string> {
            const char* const value = std::getenv(name);
            return value == nullptr ? std::nullopt : std::optional<std::string>(value);
          },
          .file = [](const std::string& path) -> std::optional<std::string> {
            std::ifstream in(path, std::ios::binary);
            if (!in) return std::nullopt;
            return std::string(std::istreambuf_iterator<char>(in), {});
          }};
}

Result<std::optional<Credentials>> EnvironmentCredentials(const CredentialPlaces& places) {
  const auto variable = [&](const char* name) { return places.variable(name).value_or(""); };
  return Both(variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"),
              variable("AWS_SESSION_TOKEN"), "the environment");
}

Result<std::optional<Credentials>> ProfileCredentials(const CredentialPlaces& places) {
  const auto variable = [&](const char* name) { return places.variable(name).value_or(""); };
  std::string path = variable("AWS_SHARED_CREDENTIALS_FILE");
  if (path.empty()) {
    const std::string home = variable("HOME");
    if (home.empty()) return std::optional<Credentials>();
    path = home + "/.aws/credentials";
  }
  const std::string asked = variable("AWS_PROFILE");
  const std::string profile = asked.empty() ? "default" : asked;
  const std::optional<std::string> text = places.file(path);
  const auto section = text ? Section(*text, profile) : std::nullopt;
  if (!section) {
    if (asked.empty()) return std::optional<Credentials>();
    return InvalidArgument(path + " has no profile '" + profile + "'");
  }
  const auto setting = [&](std::string_view name) {
    const auto at = section->find(name);
    return at == section->end() ? std::string() : at->second;
  };
  return Both(setting("aws_access_key_id"), setting("aws_secret_access_key"),
              setting("aws_session_token"), "the profile '" + profile + "' of " + path);
}

}  // namespace headrace::remote
