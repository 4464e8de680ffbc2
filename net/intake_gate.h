#pragma once

#include <cstdint>

namespace headrace::net {

// Lets no byte of a peer reach ZeroMQ that Intake does not admit. ZeroMQ has no place for such a
// question, but it accepts and reads by the C library's functions accept4 and recv. A program that
// links headrace_net_gate has its own; they ask the kernel and then Intake.
//
// For servers: call it before the first socket is bound. `memory_bytes`: see Intake::LimitsFor.
void OpenIntakeGate(std::uint64_t memory_bytes = 0);

}  // namespace headrace::net
