#pragma once

#include <span>
#include <string_view>

namespace headrace::web {

// A file of web/page, as the build has put it into the program (web/embed.cmake).
struct PageFile {
  std::string_view path;  // as it is asked for: "/page/main.js"; index.html is "/"
  std::string_view type;
  std::string_view tag;  // of its content, with quotes
  std::string_view text;
};
[[nodiscard]] std::span<const PageFile> PageFiles();

}  // namespace headrace::web
