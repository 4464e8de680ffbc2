#pragma once

// Whether samples are worth asking a worker on another host for, and what was fetched worth keeping. Pure.
namespace headrace::coordinator {

// Seconds for an entry of so many bytes from a worker of another host, with the CPU time of both sides:
//
//   100 us + bytes * (0.5 ns + 1 / link)
//
// Source: docs/adr/0053-one-cache.md, measured: the question, and 0.3 ms for 600 kB. The link is taken to be
// kLink.
[[nodiscard]] double AskSeconds(double entry_bytes);
constexpr double kLink = 1.25e9;  // bytes/s: 10 Gbit/s

// The other way must be this many times as cheap before it is taken: what is cached lies elsewhere then.
constexpr double kAskGain = 1.5;

// `make_s`: seconds to read a sample at its source, and core-seconds to make its entry; 0: not measured.
// What is not measured is asked for: a read of a store takes longer as a rule. `asks`: whether it is so
// now.
[[nodiscard]] bool WorthAsking(double make_s, double entry_bytes, bool asks);

// How the jobs of a data set read it.
struct AskedReads {
  double rate = 0;    // samples/s
  double asked = 0;   // part of the samples that other workers are asked for
  double cost_s = 0;  // core-seconds to make one, beside the question
};
// Questions must take so many cores, and such a part of all that the samples take, before copies are kept
// of what they fetch. Half of that keeps them.
constexpr double kLeastAskCores = 0.05;
constexpr double kLeastAskPart = 0.05;
// `keeps`: whether copies are kept now.
[[nodiscard]] bool WorthReplicas(const AskedReads& reads, double entry_bytes, bool keeps);

}  // namespace headrace::coordinator
