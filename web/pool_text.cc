#include "web/pool_text.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "web/json_text.h"

namespace headrace::web {
namespace {

void AppendName(std::string& to, std::string_view name) {
  to += ",\"";
  to += name;
  to += "\":";
}

// Its trouble as people read it; null: none is known.
void AppendTrouble(std::string& text, const wire::PoolStatus& pool) {
  AppendName(text, "trouble");
  if (pool.trouble.ok()) {
    text += "null";
    return;
  }
  text += "{\"kind\":";
  AppendText(text, wire::TroubleWord(pool.trouble));
  text += ",\"text\":";
  AppendText(text, pool.trouble.message());
  text += ",\"what\":";
  AppendText(text, pool.what);
  text += ",\"remedy\":";
  AppendText(text, pool.remedy);
  AppendName(text, "seconds");
  AppendNumber(text, pool.trouble_ms / 1000);
  text += pool.trouble_stands ? ",\"stands\":true}" : ",\"stands\":false}";
}

std::string PoolsText(const std::vector<wire::PoolStatus>& pools) {
  std::string text = "[";
  for (const wire::PoolStatus& pool : pools) {
    text += text.size() > 1 ? ",{\"name\":" : "{\"name\":";
    AppendText(text, pool.name);
    AppendName(text, "kind");
    AppendText(text, pool.kind);
    AppendName(text, "state");
    AppendText(text, pool.state);
    text += pool.preemptible ? ",\"preemptible\":true" : ",\"preemptible\":false";
    AppendName(text, "most");
    AppendNumber(text, std::uint64_t{pool.most});
    wire::PoolStatus::EachMetric([&](const Metric& metric, auto member) {
      AppendName(text, ShownName(metric));
      AppendNumber(text, Rounded(ShownValue(metric, static_cast<double>(pool.*member)), 6));
    });
    AppendTrouble(text, pool);
    text += '}';
  }
  return text + "]";
}

}  // namespace

std::string PoolText(const PoolState& pool, const std::vector<wire::PoolStatus>& pools) {
  std::string text = "{\"name\":";
  AppendText(text, pool.name);
  const std::pair<const char*, std::int32_t> numbers[] = {
      {"least", pool.least},     {"most", pool.most},         {"wanted", pool.wanted},
      {"queued", pool.queued},   {"starting", pool.starting}, {"running", pool.running},
      {"waiting", pool.waiting}, {"draining", pool.draining}, {"lost", pool.lost}};
  for (const auto& [name, value] : numbers) {
    AppendName(text, name);
    AppendNumber(text, static_cast<std::int64_t>(value));
  }
  AppendName(text, "cores");
  AppendNumber(text, Rounded(pool.cores, 6));
  AppendName(text, "core_price");
  AppendNumber(text, pool.core_price);
  text += ",\"reasons\":[";
  for (std::size_t i = 0; i < pool.reasons.size(); ++i) {
    text += i > 0 ? ",{\"text\":" : "{\"text\":";
    AppendText(text, pool.reasons[i].text);
    text += ",\"members\":";
    AppendNumber(text, static_cast<std::int64_t>(pool.reasons[i].members));
    text += '}';
  }
  return text + "],\"pools\":" + PoolsText(pools) + "}";
}

}  // namespace headrace::web
