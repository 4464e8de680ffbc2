#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "dataworker/stage/confine/confinement.h"

namespace headrace::dataworker {

// What a kernel gives to confine processes with. Empty: it does; else why not.
struct ConfinementGiven {
  std::string filter;
  std::string view;  // asked for the roots of the worker
};

struct ConfinementChosen {
  Confinement confinement;
  std::vector<std::string> warnings;  // lines for the log: what is not confined, and why
};

// The roots of --allow-root that a view of files has: its directories by the names that were given and by
// their real ones, since a plan may have either. Bases of objects are no directories. Where there are
// only those, the view has no data: a folder that every view has stands for that.
[[nodiscard]] std::vector<std::string> RootsOfView(const std::vector<std::string>& given,
                                                   const std::vector<std::string>& real);

// How the worker's stage processes are confined. `roots`: those of --allow-root, by each of their names;
// none, or "/": anywhere. The processes of the rules' user count where it is one for stages alone, or
// where a namespace counts them apart: elsewhere the limit of processes would count the user's own.
// `usual_files`: the soft limit of descriptors. kUnsupported: the rules require what is not given. Pure.
[[nodiscard]] Result<ConfinementChosen> ChooseConfinement(const StageRules& rules,
                                                          const std::vector<std::string>& roots,
                                                          std::uint64_t usual_files,
                                                          const ConfinementGiven& given);

// The same for this host and process, with the warnings in its log. Takes some tens of milliseconds if
// there are roots: another process tries to have that view.
Result<Confinement> ConfineStages(const StageRules& rules, const std::vector<std::string>& roots);

}  // namespace headrace::dataworker
