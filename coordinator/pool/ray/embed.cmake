# cmake -DOUT=ray_helper_text.cc -DFILE=ray_helper.py -P embed.cmake
# Writes a source with the file as a constant: headrace::coordinator::RayHelperText().
file(READ ${FILE} bytes HEX)
# 32 bytes a line.
string(REGEX REPLACE "(................................................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "// Generated from ray_helper.py by embed.cmake. Do not edit.
#include \"coordinator/pool/ray/ray_helper_text.h\"

namespace headrace::coordinator {
namespace {

constexpr unsigned char kRayHelper[] = {
${bytes}};

}  // namespace

std::string_view RayHelperText() {
  return {reinterpret_cast<const char*>(kRayHelper), sizeof(kRayHelper)};
}

}  // namespace headrace::coordinator
")
