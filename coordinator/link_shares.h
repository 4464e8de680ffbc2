#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "coordinator/estimate/estimator.h"
#include "coordinator/state/state.h"

namespace headrace::coordinator {

// What one job may have of the network, and what it needs of it.
struct JobNetwork {
  Terms terms;         // of the job's demand, with what its samples are measured to send
  NetworkShare share;  // of its own host's link and of those of all workers
  // By its own host's link alone: more workers would not change that.
  NetworkShare of_own_link;
  double wanted = 0;  // bytes/s, for what its own host does not make
  // Its host's link, or the links of the workers, carry less than it wants.
  [[nodiscard]] bool bound() const { return share.rate < wanted * (1 - 1e-9); }
  [[nodiscard]] bool bound_by_own_link() const {
    return of_own_link.rate <= share.rate * (1 + 1e-9);
  }
};

// How the links of hosts are shared. A link belongs to a host: it is what any worker there says, the least
// if they differ, and holds for each direction. What a program says of its host binds the programs of its
// tenant there alone: a stranger's word holds nobody back. Jobs whose trainers are on one host share what
// comes in (FairParts), by what they want beyond the cores of that host, and kHeadroom of it: leases have
// that much more cores, if there are any. All jobs share what the hosts of the pool send. What nobody wants
// is left for everybody: the shares of jobs that are not bound may add up to more, and placement keeps to
// the links (LinkLedger). Where no link is known, nothing is limited. Pure; a value. O(jobs + workers),
// with a logarithm for jobs of one host.
class LinkShares {
 public:
  explicit LinkShares(const State& state);

  // False: no link is known, and all that follows is without limit.
  [[nodiscard]] bool limited() const { return limited_; }
  // bytes/s; `host`: a HostKey.
  [[nodiscard]] double LinkOf(const std::string& host) const;
  // What programs of the job's tenant say of its host's link.
  [[nodiscard]] double SaidLinkOf(const AddJob& job) const;
  // Unlimited for a job that does not run, or of which nothing is measured.
  [[nodiscard]] const JobNetwork& Of(JobId job) const;

 private:
  struct Rank;
  // With workers for all users.
  struct Host {
    double link = kUnlimited;  // bytes/s
    double cores = 0;
  };
  void CollectHosts(const State& state);
  void DivideCores(std::vector<Rank>& ranks) const;
  static void Divide(double link, std::vector<Rank*>& members);
  void DivideLinks(std::vector<Rank>& ranks) const;
  void DividePool(std::vector<Rank>& ranks) const;

  bool limited_ = false;
  std::unordered_map<std::string, Host> hosts_;          // empty unless limited
  std::unordered_map<std::string, double> local_cores_;  // of local workers, by UserKey; the same
  std::unordered_map<std::string, double> said_links_;   // by host and tenant; the same
  std::unordered_map<JobId, JobNetwork> jobs_;
  static const JobNetwork kNone;
};

}  // namespace headrace::coordinator
