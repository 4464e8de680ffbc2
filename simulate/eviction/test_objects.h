#pragma once

#include <string_view>

// For tests: a table of objects as DLCache's, with made-up numbers.
namespace headrace::simulate {

inline constexpr std::string_view kObjects =
    "Cost,ETag,Key,Size\n"
    "80,a,ILSVRC/1,90000000000\n"
    "80,b,ILSVRC/2,90000000000\n"
    "160,c,LibriSpeech/1,80000000000\n"
    "8,d,IDS2018/d,4000\n"
    "8,e,IDS2018/a,1000\n"
    "8,f,IDS2018/c,3000\n"
    "8,g,IDS2018/b,2000\n"
    "40,h,Inrix/1,70000000000\n";

}  // namespace headrace::simulate
