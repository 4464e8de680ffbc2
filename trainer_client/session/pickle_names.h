#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "base/buffer.h"
#include "base/result.h"

namespace headrace::client {

// One thing that a pickle does with a module's class or function.
struct NameUse {
  enum class Kind : char {
    kValue = 'v',  // holds it
    kCall = 'c',   // calls it
    kNew = 'n',    // makes an object of the class, without its __init__
    kBuild = 'b',  // gives a state to an object that it made so
    kAppend = 'a',
    kSetItem = 's',
  };
  Kind kind = Kind::kValue;
  std::string module;
  std::string name;

  friend auto operator<=>(const NameUse&, const NameUse&) = default;
};

// Returns all that the pickle does beside making plain values, without doing it. The pickle is one of
// protocol 5 as Python's own pickler writes it, or kDataLoss: it has other opcodes, a length beyond its
// end, a name that it computes, or gives a state to something that it did not make itself.
// kResourceExhausted: it is larger or deeper than what is read here, which an honest one may be. So what
// Python's unpickler does with these bytes is what is returned, and no more. `buffers`: how many lie
// out of band. Source: Lib/pickletools.py and Modules/_pickle.c of CPython.
// A name that a worker gives by the functions by_name and exception_by_name of
// headrace.stage.pickling is one, too. O(size). Pure.
[[nodiscard]] Result<std::set<NameUse>> NamesInPickle(ByteSpan pickle, std::size_t buffers);

}  // namespace headrace::client
