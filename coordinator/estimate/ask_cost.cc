#include "coordinator/estimate/ask_cost.h"

namespace headrace::coordinator {
namespace {

constexpr double kQuestion = 100e-6;
constexpr double kCpuPerByte = 0.5e-9;

}  // namespace

double AskSeconds(double entry_bytes) {
  return kQuestion + entry_bytes * (kCpuPerByte + 1 / kLink);
}

bool WorthAsking(double make_s, double entry_bytes, bool asks) {
  if (make_s <= 0) return true;
  const double ask_s = AskSeconds(entry_bytes);
  return asks ? make_s * kAskGain >= ask_s : make_s >= ask_s * kAskGain;
}

bool WorthReplicas(const AskedReads& reads, double entry_bytes, bool keeps) {
  const double enough = keeps ? 0.5 : 1;
  const double ask_s = reads.asked * AskSeconds(entry_bytes);
  return reads.rate * ask_s >= enough * kLeastAskCores &&
         ask_s >= enough * kLeastAskPart * (ask_s + reads.cost_s);
}

}  // namespace headrace::coordinator
