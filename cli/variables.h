#pragma once

#include <array>
#include <string_view>

// The environment variables that Headrace reads, for people. Those of `headrace run` have the meaning of its option
// of that name, which sets them.
namespace headrace::cli {

struct Variable {
  std::string_view name;
  std::string_view value;    // its form
  std::string_view meaning;  // one sentence, without its full stop
};

inline constexpr std::array kVariables{
    Variable{"HEADRACE", "off", "The program runs as if Headrace were not there"},
    Variable{"HEADRACE_ALLOW_ENDPOINTS", "URL,...",
             "Stores that credentials may be sent to, as --allow-endpoint of a worker"},
    Variable{"HEADRACE_BINARY", "PATH",
             "The program `headrace` that Python starts. `headrace run` sets it"},
    Variable{"HEADRACE_BOOTSTRAP_DIR", "PATH",
             "Where Python finds what `headrace run` loads into a program. For installations in "
             "odd places"},
    Variable{"HEADRACE_CACHE", "SIZE", "--cache of `headrace run`"},
    Variable{"HEADRACE_COMPARE", "N", "--compare of `headrace run`"},
    Variable{"HEADRACE_CONFIG", "PATH", "The file of settings, in place of the usual places"},
    Variable{"HEADRACE_COORDINATOR", "ADDRESS", "--coordinator of all commands that have it"},
    Variable{"HEADRACE_EPOCHS", "N", "--epochs of `headrace run`"},
    Variable{"HEADRACE_FOUND_FUNCTIONS", "on, off",
             "off is --no-found-functions of `headrace run`"},
    Variable{"HEADRACE_INSPECT", "PATH",
             "Where a program that `explain` or `verify` runs writes what it found. They set it"},
    Variable{"HEADRACE_KEYS", "DIR", "--keys of all commands that have it"},
    Variable{"HEADRACE_LINK", "RATE", "--link of `headrace run`"},
    Variable{
        "HEADRACE_LOCAL_WORKER", "on, off",
        "Whether a program lends its coordinator a worker on its own host; --remote-only sets off"},
    Variable{"HEADRACE_LOG", "debug, info, warning, error, off",
             "What coordinators, workers and programs log"},
    Variable{"HEADRACE_LOG_FORMAT", "text, json", "The form of a line of the log"},
    Variable{"HEADRACE_MAX_BAD_SAMPLES", "N", "--max-bad-samples of `headrace run`"},
    Variable{"HEADRACE_MEMORY", "SIZE", "--memory of `headrace run`"},
    Variable{"HEADRACE_NO_WORKERS", "local, wait, fail", "--no-workers of `headrace run`"},
    Variable{"HEADRACE_ON_BAD_SAMPLE", "raise, skip, substitute",
             "--on-bad-sample of `headrace run`"},
    Variable{"HEADRACE_ON_DIFFERENCE", "raise, warn", "--on-difference of `headrace run`"},
    Variable{"HEADRACE_PRIORITY", "N", "--priority of `headrace run`"},
    Variable{"HEADRACE_PYTHON", "PATH",
             "The Python in which a worker runs code of programs of other hosts"},
    Variable{"HEADRACE_RACK", "NAME", "--rack of `headrace run`"},
    Variable{"HEADRACE_REPORT", "FILE", "--report of `headrace run`"},
    Variable{"HEADRACE_RNG", "auto, torch, sample", "--rng of `headrace run`"},
    Variable{"HEADRACE_SAMPLE_DEADLINE", "SECONDS", "--sample-deadline of `headrace run`"},
    Variable{"HEADRACE_TENANT", "NAME", "--tenant of `headrace run`"},
    Variable{"HEADRACE_THREADS", "N", "--threads of `headrace run`"},
    Variable{
        "HEADRACE_TRANSPORT", "tcp",
        "Batches come over sockets also from workers of this host. For tests and measurements"},
    Variable{"HEADRACE_TRUST_CODE", "1", "--trust-code of `headrace run`"},
    Variable{"HEADRACE_WARM", "on, off", "--warm of `headrace run`"},
    Variable{"HEADRACE_WIRE", "auto, uint8, as-made", "--wire of `headrace run`"},
    Variable{"HEADRACE_WORKERS", "N", "--workers of `headrace run`"},
};

}  // namespace headrace::cli
