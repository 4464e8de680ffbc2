# cmake -DOUT=page_files.cc -DFOLDER=web/page -P embed.cmake
# Writes a source with the files of the folder as constants: headrace::web::PageFiles().
set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")

file(GLOB names RELATIVE ${FOLDER} ${FOLDER}/*)
list(SORT names)
set(constants "")
set(rows "")
set(count 0)
foreach(name IN LISTS names)
  string(REGEX MATCH "[a-z]+$" ending ${name})
  if(NOT DEFINED type_${ending})
    message(FATAL_ERROR "web/page/${name}: no type is known for .${ending} (web/embed.cmake)")
  endif()
  file(READ ${FOLDER}/${name} bytes HEX)
  file(SHA256 ${FOLDER}/${name} tag)
  string(SUBSTRING ${tag} 0 16 tag)
  # 32 bytes a line.
  string(REGEX REPLACE "(................................................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  set(path "/page/${name}")
  if(name STREQUAL "index.html")
    set(path "/")
  endif()
  string(APPEND constants "constexpr unsigned char kFile${count}[] = {\n${bytes}};\n")
  string(APPEND rows
    "    {\"${path}\", \"${type_${ending}}\", \"\\\"${tag}\\\"\",\n"
    "     {reinterpret_cast<const char*>(kFile${count}), sizeof(kFile${count})}},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUT} "// Generated from web/page by web/embed.cmake. Do not edit.
#include \"web/page_files.h\"

namespace headrace::web {
namespace {

${constants}
}  // namespace

std::span<const PageFile> PageFiles() {
  static const PageFile files[] = {
${rows}  };
  return files;
}

}  // namespace headrace::web
")
