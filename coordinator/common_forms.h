#pragma once

#include <cstdint>
#include <map>

#include "coordinator/state/state.h"

namespace headrace::coordinator {

// What is kept of the samples of several jobs that make different things of one source.
struct CommonForm {
  std::uint64_t dataset = 0;  // in place of Session::dataset, the same for all of them
  std::int32_t nodes = 0;  // after which the output is kept: the longest prefix that they all have
};

// Jobs with one source and different pure prefixes, say two sizes of pictures, find nothing of each other
// where each keeps the output of its own prefix. They keep the output of the longest common one if
//
//   it is kept already        it stays while one of these jobs is there
//   little else is cached     so little is lost: a tenth of their samples, at most
//   it hits 1.5 times as much where the room is too small for each to have its own
//
// So jobs that begin about together read and decode each picture once. A job that comes later, to one
// that has filled its cache in its own form, makes its own. By Session::dataset; those that keep what
// they have of their own are not in it. Pure.
[[nodiscard]] std::map<std::uint64_t, CommonForm> CommonForms(const State& state);

}  // namespace headrace::coordinator
