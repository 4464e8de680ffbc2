#include "coordinator/estimate/cache_form.h"

#include "base/check.h"

namespace headrace::coordinator {

CacheForms FormsOf(const FormCosts& costs) {
  const auto form = [](std::string_view name, double saved_s, double bytes) {
    return CacheForm{name, bytes > 0 ? saved_s : 0, bytes};
  };
  const double decoded_s = costs.fetch_s + costs.decode_s;
  return {form("encoded", costs.fetch_s, costs.encoded_bytes),
          form("decoded", decoded_s, costs.decoded_bytes),
          form("prefix", decoded_s + costs.prefix_s, costs.prefix_bytes)};
}

double SecondsPerByte(const CacheForm& form) {
  return form.bytes > 0 ? form.saved_s / form.bytes : 0;
}

double SavedPerRead(const CacheForm& form, double rows, double room,
                    std::span<const CacheHost> hosts) {
  return form.saved_s * HitShare(room, rows * form.bytes, hosts);
}

std::size_t ChooseForm(std::span<const CacheForm> forms, std::optional<std::size_t> held,
                       double rows, double room, std::span<const CacheHost> hosts) {
  HR_CHECK(!forms.empty());
  std::size_t best = held.value_or(0);
  double saved = SavedPerRead(forms[best], rows, room, hosts) * (held ? kChangeGain : 1);
  for (std::size_t f = 0; f < forms.size(); ++f) {
    const double own = SavedPerRead(forms[f], rows, room, hosts);
    if (own <= saved) continue;
    best = f;
    saved = own;
  }
  return best;
}

}  // namespace headrace::coordinator
