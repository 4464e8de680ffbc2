#include "base/result.h"

#include <cerrno>
#include <cstring>

namespace headrace {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kOk:
      return "Ok";
    case Code::kInvalidArgument:
      return "InvalidArgument";
    case Code::kNotFound:
      return "NotFound";
    case Code::kUnavailable:
      return "Unavailable";
    case Code::kDeadlineExceeded:
      return "DeadlineExceeded";
    case Code::kCancelled:
      return "Cancelled";
    case Code::kDataLoss:
      return "DataLoss";
    case Code::kResourceExhausted:
      return "ResourceExhausted";
    case Code::kInfeasible:
      return "Infeasible";
    case Code::kInternal:
      return "Internal";
    case Code::kUnsupported:
      return "Unsupported";
    case Code::kOtherRelease:
      return "OtherRelease";
    case Code::kUnknown:
      return "Unknown";
  }
  return "Unknown";
}

std::string_view DetailName(Detail detail) {
  switch (detail) {
    case Detail::kNone:
      return "";
    case Detail::kNoSession:
      return "NoSession";
    case Detail::kSlotTooSmall:
      return "SlotTooSmall";
    case Detail::kOtherSpec:
      return "OtherSpec";
    case Detail::kOtherContent:
      return "OtherContent";
    case Detail::kNoFile:
      return "NoFile";
    case Detail::kNotAllowed:
      return "NotAllowed";
    case Detail::kEndsWorkers:
      return "EndsWorkers";
    case Detail::kQuota:
      return "Quota";
    case Detail::kForbidden:
      return "Forbidden";
    case Detail::kNoImage:
      return "NoImage";
    case Detail::kNoPlace:
      return "NoPlace";
    case Detail::kUnreachable:
      return "Unreachable";
    case Detail::kNoRoom:
      return "NoRoom";
    case Detail::kWorkersFail:
      return "WorkersFail";
    case Detail::kUnknown:
      return "Unknown";
  }
  return "Unknown";
}

std::string Status::ToString() const {
  if (ok()) return "Ok";
  std::string text(CodeName(code_));
  return text + ": " + message_;
}

Status Status::WithContext(std::string_view context) const {
  if (ok()) return *this;
  return {code_, std::string(context) + ": " + message_, detail_};
}

Status ErrnoStatus(int error_number, std::string_view what) {
  Code code = Code::kUnavailable;
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      code = Code::kNotFound;
      break;
    case ENOMEM:
    case ENOSPC:
    case EMFILE:
    case ENFILE:
    case EDQUOT:
      code = Code::kResourceExhausted;
      break;
    case EINVAL:
    case EISDIR:
    case ENAMETOOLONG:
      code = Code::kInvalidArgument;
      break;
    default:
      break;
  }
  return {code, std::string(what) + ": " + std::strerror(error_number)};
}

}  // namespace headrace
