#pragma once

#include <string>

#include "coordinator/cluster_planner_fixture.h"
#include "coordinator/link_shares.h"

namespace headrace::coordinator {

// Hosts with links, and jobs that are measured to send so much for each sample.
class PlannerLinksTest : public ClusterPlannerTest {
 protected:
  WorkerId Linked(int cores, const std::string& host, double link, const std::string& rack = "",
                  bool local = false) {
    AddWorker add;
    add.token = "worker-token-" + std::to_string(state_.next_worker().value);
    add.info.worker = state_.next_worker();
    add.info.cores = cores;
    add.info.host = {host, host, 0, 1};
    add.info.link_bytes_per_second = static_cast<std::uint64_t>(link);
    add.info.rack = rack;
    add.info.local = local;
    Apply(add);
    return add.info.worker;
  }
  JobId JobOn(const std::string& host, double link = 0, const std::string& rack = "",
              const std::string& group = "") {
    AddJob add;
    add.host = {host, host, 0, 1};
    add.link_bytes_per_second = static_cast<std::uint64_t>(link);
    add.rack = rack;
    add.group = group;
    return Job(add);
  }
  // A second in which the trainer took `rate` samples of `cost` core-seconds, all of them from other
  // hosts, `bytes` each.
  void Sends(JobId job, double rate, double cost, double bytes) {
    wire::SessionLoad& load = loads_[job];
    load.tcp_bytes += static_cast<std::uint64_t>(rate * bytes);
    load.received_bytes += static_cast<std::uint64_t>(rate * bytes);
    Report(job, rate, cost);
  }
  // What the job's leases on other hosts make, bytes/s.
  double Sent(const JobPlan& plan, const std::string& host = "") {
    const LinkShares links(state_);
    const JobNetwork& network = links.Of(plan.job);
    const coordinator::Job& job = *state_.FindJob(plan.job);
    double sum = 0;
    for (const auto& [id, grant] : plan.grants) {
      const std::string& on = state_.FindWorker(id)->info.host.hostname;
      if (on == job.spec.host.hostname || (!host.empty() && on != host)) continue;
      if (grant.millicores > 50) sum += grant.millicores;
    }
    const double cost = CostPerSample(network.terms, job.meter.hit());
    return sum * 1e-3 / cost * network.terms.sent_bytes;
  }
};

}  // namespace headrace::coordinator
