#include "schemas/wire/convert_internal.h"

// What the coordinator decides by, and why.
namespace headrace::wire {

Offset<fb::JobNeed> Write(Builder& b, const JobNeed& v) {
  return fb::CreateJobNeed(b, v.ready_rate, v.hit_cost, v.miss_cost, v.miss_bytes, v.hit_share);
}

JobNeed Read(Reader&, const fb::JobNeed* v) {
  if (v == nullptr) return {};
  return {.ready_rate = v->ready_rate(),
          .hit_cost = v->hit_cost(),
          .miss_cost = v->miss_cost(),
          .miss_bytes = v->miss_bytes(),
          .hit_share = v->hit_share()};
}

Offset<fb::GrantReason> Write(Builder& b, const GrantReason& v) {
  const auto rule = WriteText(b, v.rule);
  const auto text = WriteText(b, v.text);
  return fb::CreateGrantReason(b, rule, v.cores, v.wanted_cores, v.fair_cores, v.floor,
                               v.rival.value, v.rival_cores, text);
}

GrantReason Read(Reader& r, const fb::GrantReason* v) {
  if (v == nullptr) return {};
  return {.rule = r.Text(v->rule()),
          .cores = v->cores(),
          .wanted_cores = v->wanted_cores(),
          .fair_cores = v->fair_cores(),
          .floor = v->floor(),
          .rival = r.ReadId<JobId>(v->rival(), "rival"),
          .rival_cores = v->rival_cores(),
          .text = r.Text(v->text())};
}

Offset<fb::PolicyRules> Write(Builder& b, const PolicyRules& v) {
  const auto policy = WriteText(b, v.policy);
  const auto tenants = WriteTables(b, v.tenants, [&b](const TenantRules& each) {
    const auto name = WriteText(b, each.name);
    return fb::CreateTenantRules(b, name, each.weight, each.gpus, each.cores, each.cache_bytes,
                                 each.source_bytes_per_second);
  });
  return fb::CreatePolicyRules(b, policy, v.source_bytes_per_second, v.floor, v.shared_cache_first,
                               tenants);
}

// Bounded: the body may name one table many times.
PolicyRules Read(Reader& r, const fb::PolicyRules* v) {
  PolicyRules out;
  if (v == nullptr) return out;
  out.policy = r.Text(v->policy());
  out.source_bytes_per_second = v->source_bytes_per_second();
  out.floor = v->floor();
  out.shared_cache_first = v->shared_cache_first();
  if (v->tenants() == nullptr) return out;
  r.Require(v->tenants()->size() <= kMaxTenants, "tenants");
  if (v->tenants()->size() > kMaxTenants) return out;
  for (const fb::TenantRules* each : *v->tenants()) {
    out.tenants.push_back({.name = r.Text(each->name()),
                           .weight = each->weight(),
                           .gpus = each->gpus(),
                           .cores = each->cores(),
                           .cache_bytes = each->cache_bytes(),
                           .source_bytes_per_second = each->source_bytes_per_second()});
  }
  return out;
}

}  // namespace headrace::wire
