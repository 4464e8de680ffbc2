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

}  // namespace

void InitLog(std::string_view process_name, LogLevel default_level) {
  LogLevel level = default_level;
  if (const char* text = std::getenv("HEADRACE_LOG")) level = LevelFromText(text, level);
  Logger()->set_level(ToSpdlog(level));
  Logger()->set_pattern(std::string("%Y-%m-%dT%H:%M:%S.%e %L ") + std::string(process_name) +
                        " %v");
}

void Log(LogLevel level, std::string_view line) {
  if (IsPlainText(line)) {
    Logger()->log(ToSpdlog(level), "{}", line);
  } else {  // a file's or a peer's name is in it
    Logger()->log(ToSpdlog(level), "{}", PlainText(line));
  }
}

void CheckFailed(const char* file, int line, const char* expression) {
  Logger()->critical("{}:{}: check failed: {}", file, line, expression);
  Logger()->flush();
  std::abort();
}

}  // namespace headrace
