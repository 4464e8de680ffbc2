#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <string>

#include "base/check.h"
#include "base/plain_text.h"

namespace headrace {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

LogLevel LevelFromText(std::string_view text, LogLevel fallback) {
  if (text == "debug") return LogLevel::kDebug;
  if (text == "info") return LogLevel::kInfo;
  if (text == "warning") return LogLevel::kWarning;
  if (text == "error") return LogLevel::kError;
  if (text == "off") return LogLevel::kOff;
  return fallback;
}

// Our own logger, since the host process may use spdlog's default logger.
std::shared_ptr<spdlog::logger>& Logger() {
  static auto logger = [] {
    auto made = std::make_shared<spdlog::logger>("headrace",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_level(spdlog::level::warn);
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return logger;
}

bool as_json = false;  // set before threads start

// `text` without control characters, as a part of a JSON string.
std::string JsonText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

void Write(spdlog::level::level_enum level, std::string_view line) {
  if (as_json) {
    Logger()->log(level, "{}", JsonText(line));
  } else {
    Logger()->log(level, "{}", line);
  }
}

}  // namespace

void InitLog(std::string_view process_name, LogLevel default_level) {
  LogLevel level = default_level;
  if (const char* text = std::getenv("HEADRACE_LOG")) level = LevelFromText(text, level);
  Logger()->set_level(ToSpdlog(level));
  const char* const format = std::getenv("HEADRACE_LOG_FORMAT");
  as_json = format != nullptr && std::string_view(format) == "json";
  const std::string process(process_name);
  Logger()->set_pattern(as_json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","process":")" +
                                      process + R"(","message":"%v"})"
                                : "%Y-%m-%dT%H:%M:%S.%e %L " + process + " %v");
}

void Log(LogLevel level, std::string_view line) {
  if (IsPlainText(line)) {
    Write(ToSpdlog(level), line);
  } else {  // a file's or a peer's name is in it
    Write(ToSpdlog(level), PlainText(line));
  }
}

void CheckFailed(const char* file, int line, const char* expression) {
  Write(spdlog::level::critical,
        std::string(file) + ":" + std::to_string(line) + ": check failed: " + expression);
  Logger()->flush();
  std::abort();
}

}  // namespace headrace
