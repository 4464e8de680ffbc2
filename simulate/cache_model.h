#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "coordinator/estimate/hit_share.h"
#include "simulate/cluster.h"
#include "simulate/job.h"

// The cluster's cache as a fluid. Samples of a data set are read once an epoch in fresh random
// order. So a reader's hit share follows from two amounts: the bytes it has not read in this epoch,
// and the cached part of them. Samples that a job itself adds count in its next epoch, since it has
// read them already (SiloD's delayed effectiveness). It can still find samples that others add.
//
// A data set that is read on k hosts is cached on each of them, an equal part. A sample that one of them
// has is found there alone (coordinator/estimate/hit_share.h). So k times the bytes hit all reads.
namespace headrace::simulate {

// A job's progress through its data set.
struct Reading {
  std::size_t dataset = 0;
  double unread = 0;        // bytes of this epoch
  double cached_share = 0;  // part of what is unread, 0..1
  // For the present time step.
  double rate = 0;  // bytes/s, cached or not
  double hit = 0;   // share of them that came from the cache
};

// One thread.
class CacheModel {
 public:
  // `hosts`: on how many each data set is read; none: on one. `room`: bytes of one host.
  CacheModel(std::span<const Dataset> datasets, double capacity, std::span<const int> hosts = {},
             double room = coordinator::kUnlimited);

  // The reading of a job that begins an epoch now.
  [[nodiscard]] Reading Begin(std::size_t dataset) const;
  // What it holds at first. REQUIRES: no more than the data sets, and than the capacity.
  void Hold(std::span<const double> cached);
  // Sets quotas, as positions of data sets and bytes; all others get 0. Bytes over a quota stay
  // until the room is needed. REQUIRES: their sum is at most the capacity.
  void SetQuotas(std::span<const std::size_t> datasets, std::span<const double> bytes);
  // Bytes/s that these data sets gain beside what readers read, for as long as their quotas have room. All
  // others get 0.
  void SetFills(std::span<const std::size_t> datasets, std::span<const double> bytes_per_second);
  // Moves on by `dt` seconds in which the readers read at their rates. REQUIRES: `readers` has
  // every reader of this step.
  void Advance(double dt, std::span<Reading* const> readers);

  // Seconds until an epoch of this reader ends and its hit share changes; else kUnlimited.
  [[nodiscard]] double NextEpoch(const Reading& reading) const;
  // True while the hit share of readers drifts within an epoch: several read what is being cached,
  // or data that is being read loses room.
  [[nodiscard]] bool Drifts(std::span<Reading* const> readers) const;

  // Whether it has less than its quota.
  [[nodiscard]] bool Fills(std::size_t dataset) const;

  [[nodiscard]] double capacity() const { return capacity_; }
  [[nodiscard]] double quota(std::size_t dataset) const { return quota_[dataset]; }
  [[nodiscard]] double cached(std::size_t dataset) const { return cached_[dataset]; }
  [[nodiscard]] double total_cached() const { return total_; }
  [[nodiscard]] double bytes(std::size_t dataset) const { return bytes_[dataset]; }
  // The same for policies: equal parts of the batches.
  [[nodiscard]] const std::vector<coordinator::CacheHost>& hosts(std::size_t dataset) const {
    return hosts_[dataset];
  }

 private:
  // Share of reads that hit with what is cached now.
  [[nodiscard]] double HitNow(std::size_t dataset) const;
  [[nodiscard]] double Limit(std::size_t dataset) const;
  // Takes room from data sets over their quota, and scales `kept` for each one that loses some.
  void Evict(double needed);

  double capacity_;
  double total_ = 0;
  std::vector<double> bytes_, cached_, quota_;
  std::vector<std::vector<coordinator::CacheHost>> hosts_;
  std::vector<std::size_t> with_quota_;
  std::vector<double> fill_;  // bytes/s
  std::vector<std::size_t> filled_;
  // For one step: bytes that want in, bytes that came in, and the share kept of what was there.
  std::vector<double> wanted_, added_, kept_;
  std::vector<bool> seen_;
  std::vector<std::size_t> touched_, evicted_;
};

}  // namespace headrace::simulate
