#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "simulate/cluster.h"
#include "simulate/job.h"

// The cluster's cache as a fluid. Samples of a data set are read once an epoch in fresh random
// order, so a reader's hit share follows from two amounts: bytes that it has not read in this
// epoch, and the part of them that is cached. What a job itself adds it has read already, so it
// counts in its next epoch (SiloD's delayed effectiveness); what others add it can still find.
namespace headrace::simulate {

// A job's place in its data set.
struct Reading {
  std::size_t dataset = 0;
  double unread = 0;        // bytes of this epoch
  double cached_share = 0;  // of what is unread, 0..1
  // Of the time step.
  double rate = 0;  // bytes/s, cached or not
  double hit = 0;   // share of them that came from the cache
};

// One thread.
class CacheModel {
 public:
  CacheModel(std::span<const Dataset> datasets, double capacity);

  // Places of a job that begins an epoch now.
  [[nodiscard]] Reading Begin(std::size_t dataset) const;
  // Quotas, as positions of the data sets and bytes; 0 for all others. What is over its quota stays
  // until the room is needed. REQUIRES: their sum is at most the capacity.
  void SetQuotas(std::span<const std::size_t> datasets, std::span<const double> bytes);
  // `dt` seconds in which the readers have read at their rates. Every reader of this step is there.
  void Advance(double dt, std::span<Reading* const> readers);

  // Seconds until an epoch of this reader ends, where its hit share then changes; else kUnlimited.
  [[nodiscard]] double NextEpoch(const Reading& reading) const;
  // True while the hit share of readers drifts within an epoch: several read what is being cached,
  // or room is taken from data that is being read.
  [[nodiscard]] bool Drifts(std::span<Reading* const> readers) const;

  [[nodiscard]] double capacity() const { return capacity_; }
  [[nodiscard]] double quota(std::size_t dataset) const { return quota_[dataset]; }
  [[nodiscard]] double cached(std::size_t dataset) const { return cached_[dataset]; }
  [[nodiscard]] double total_cached() const { return total_; }
  [[nodiscard]] double bytes(std::size_t dataset) const { return bytes_[dataset]; }

 private:
  [[nodiscard]] double Limit(std::size_t dataset) const;
  [[nodiscard]] bool Fills(std::size_t dataset) const;
  // Takes room from what is over its quota; `kept` is scaled for each data set that loses some.
  void Evict(double needed);

  double capacity_;
  double total_ = 0;
  std::vector<double> bytes_, cached_, quota_;
  std::vector<std::size_t> with_quota_;
  // Of one step: bytes that want in, bytes that came in, share kept of what was there.
  std::vector<double> wanted_, added_, kept_;
  std::vector<bool> seen_;
  std::vector<std::size_t> touched_, evicted_;
};

}  // namespace headrace::simulate
