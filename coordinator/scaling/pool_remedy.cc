#include "coordinator/scaling/pool_remedy.h"

namespace headrace::coordinator {
namespace {

struct Words {
  std::string_view text, remedy;
};

Words WordsOf(Detail kind) {
  switch (kind) {
    case Detail::kQuota:
      return {"a quota or limit is used up",
              "have the quota raised, end what else uses it, or ask for fewer or smaller workers "
              "(--max-workers, `most=` of its --pool)"};
    case Detail::kForbidden:
      return {"it is forbidden", "give the coordinator's account the right to start workers there"};
    case Detail::kNoImage:
      return {"its image does not come",
              "correct the name of the image, and let the nodes reach its registry"};
    case Detail::kNoPlace:
      return {"there is no such place", "name a place for workers that its engine knows"};
    case Detail::kUnreachable:
      return {"its engine is not reached",
              "run the command of its workers by hand on the coordinator's host"};
    case Detail::kNoRoom:
      return {"it has no room now",
              "wait, ask for smaller workers, or name a second pool by another --pool"};
    case Detail::kWorkersFail:
      return {"its workers fail",
              "start its worker by hand and read what it says: keys and a firewall are common "
              "causes"};
    case Detail::kNone:
    case Detail::kNoSession:
    case Detail::kSlotTooSmall:
    case Detail::kOtherSpec:
    case Detail::kOtherContent:
    case Detail::kNoFile:
    case Detail::kNotAllowed:
    case Detail::kEndsWorkers:
    case Detail::kUnknown:
      break;
  }
  return {"no worker starts", "read the coordinator's log, and docs/operate.md"};
}

}  // namespace

std::string_view TroubleText(Detail kind) { return WordsOf(kind).text; }
std::string_view GeneralRemedy(Detail kind) { return WordsOf(kind).remedy; }

}  // namespace headrace::coordinator
