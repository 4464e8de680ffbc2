#include "dataworker/stage/confine/stage_variables.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

namespace headrace::dataworker {
namespace {

// Where a library has variables with tokens or passwords beside its others, single names are listed.
constexpr std::array<std::string_view, 48> kKept = {"PATH",
                                                    "HOME",
                                                    "USER",
                                                    "LOGNAME",
                                                    "SHELL",
                                                    "TERM",
                                                    "LANG",
                                                    "LANGUAGE",
                                                    "LC_*",
                                                    "TZ",
                                                    "TMPDIR",
                                                    "TMP",
                                                    "TEMP",
                                                    "XDG_*",
                                                    "LD_LIBRARY_PATH",
                                                    "LD_PRELOAD",
                                                    "MALLOC_*",
                                                    "MIMALLOC_*",
                                                    "TCMALLOC_*",
                                                    "GLIBC_TUNABLES",
                                                    "PYTHON*",
                                                    "VIRTUAL_ENV",
                                                    "CONDA_PREFIX",
                                                    "SSL_CERT_FILE",
                                                    "SSL_CERT_DIR",
                                                    "OMP_*",
                                                    "GOMP_*",
                                                    "KMP_*",
                                                    "MKL_*",
                                                    "OPENBLAS_*",
                                                    "BLIS_*",
                                                    "NUMEXPR_*",
                                                    "NUMBA_*",
                                                    "OPENCV_*",
                                                    "TORCH_*",
                                                    "TORCHVISION_*",
                                                    "PYTORCH_*",
                                                    "ATEN_*",
                                                    "CUDA_*",
                                                    "NVIDIA_*",
                                                    "MPLBACKEND",
                                                    "MPLCONFIGDIR",
                                                    "HF_HOME",
                                                    "HF_HUB_CACHE",
                                                    "HF_HUB_OFFLINE",
                                                    "HF_DATASETS_CACHE",
                                                    "HF_DATASETS_OFFLINE",
                                                    "HEADRACE*"};

bool Matches(std::string_view name, std::string_view rule) {
  if (!rule.ends_with('*')) return name == rule;
  rule.remove_suffix(1);
  return name.starts_with(rule);
}

}  // namespace

bool IsVariableOfStages(std::string_view name, std::span<const std::string> also) {
  const auto matches = [&](std::string_view rule) { return Matches(name, rule); };
  return std::ranges::any_of(kKept, matches) || std::ranges::any_of(also, matches);
}

void KeepVariablesOfStages(std::span<const std::string> also) {
  std::vector<std::string> others;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    const std::string_view name = variable.substr(0, variable.find('='));
    if (!IsVariableOfStages(name, also)) others.emplace_back(name);
  }
  for (const std::string& name : others) ::unsetenv(name.c_str());
}

}  // namespace headrace::dataworker
