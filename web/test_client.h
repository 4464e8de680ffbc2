#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

// A client for tests of servers.
namespace headrace::web {

struct Got {
  long status = 0;
  std::string body, head;
};

inline std::size_t Append(char* data, std::size_t size, std::size_t count, void* to) {
  static_cast<std::string*>(to)->append(data, size * count);
  return size * count;
}

// By libcurl: a client that is not ours. Status 0: no answer.
inline Got Get(const std::string& url, const std::string& authorization = "",
               const char* method = "GET", const char* body = nullptr,
               const std::vector<std::string>& more_headers = {}) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                 &curl_easy_cleanup);
  Got got;
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, 30L);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &Append);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &got.body);
  curl_easy_setopt(curl.get(), CURLOPT_HEADERFUNCTION, &Append);
  curl_easy_setopt(curl.get(), CURLOPT_HEADERDATA, &got.head);
  curl_easy_setopt(curl.get(), CURLOPT_CUSTOMREQUEST, method);
  if (std::string_view(method) == "HEAD") curl_easy_setopt(curl.get(), CURLOPT_NOBODY, 1L);
  if (body != nullptr) curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, body);
  curl_slist* headers = nullptr;
  if (!authorization.empty()) {
    headers = curl_slist_append(headers, ("Authorization: " + authorization).c_str());
  }
  for (const std::string& each : more_headers) headers = curl_slist_append(headers, each.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers);
  curl_easy_perform(curl.get());
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &got.status);
  curl_slist_free_all(headers);
  return got;
}

}  // namespace headrace::web
