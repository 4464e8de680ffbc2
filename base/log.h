#pragma once

#include <memory>
#include <string_view>

namespace headrace {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

// Sets the process's name in log lines, and the level. HEADRACE_LOG (debug|info|warning|error|off)
// overrides the level. Lines go to stderr: as text, or with HEADRACE_LOG_FORMAT=json as one JSON object each,
// {"time", "level", "process", "message"}. Call once, before threads start.
void InitLog(std::string_view process_name, LogLevel default_level);

// Writes one structured line: "message key=value key=value". Stays one line whatever is in it: see
// PlainText. Thread-safe.
void Log(LogLevel level, std::string_view line);
inline void LogDebug(std::string_view line) { Log(LogLevel::kDebug, line); }
inline void LogInfo(std::string_view line) { Log(LogLevel::kInfo, line); }
inline void LogWarning(std::string_view line) { Log(LogLevel::kWarning, line); }
inline void LogError(std::string_view line) { Log(LogLevel::kError, line); }

}  // namespace headrace
