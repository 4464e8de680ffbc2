#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "coordinator/scaling/demand_world.h"

// What trainers do, and how a controller's demand stands up to it. One table for the test, which holds
// each figure to its bound, and for demand_bench.
namespace headrace::coordinator {

// What a scene may come to, in half an hour after the first minute. Demands are relative to the need.
struct DemandBounds {
  double mean_low, mean_high;
  double most;   // of any seed
  double turns;  // of a seed: a demand that grows by 2% after it fell, or the other way round
  double wait;   // mean share of the trainer's time
};
struct NamedScene {
  std::string name;
  DemandScene scene;
  DemandBounds bounds;
};

inline constexpr double kSceneNeed = 1.28;  // cores: 128 samples/s of 10 ms each
inline constexpr double kSceneRate = 128;

inline DemandScene SteadyScene(double noise, double buffer) {
  DemandScene scene;
  scene.cycle = {{1e12, kSceneRate}};
  scene.noise = noise;
  scene.buffer = buffer;
  return scene;
}

inline std::vector<NamedScene> DemandScenes() {
  std::vector<NamedScene> all;
  const auto add = [&](std::string name, const DemandScene& scene, const DemandBounds& bounds) {
    all.push_back({std::move(name), scene, bounds});
  };
  add("noise 2%", SteadyScene(0.02, 0), {0.97, 1.02, 1.05, 0, 0.01});
  add("noise 10%", SteadyScene(0.1, 0), {0.97, 1.05, 1.10, 2, 0.02});
  add("noise 20%", SteadyScene(0.2, 0), {0.97, 1.10, 1.25, 3, 0.03});
  add("noise 40%", SteadyScene(0.4, 0), {0.97, 1.30, 1.60, 3, 0.04});
  add("noise 10%, 16 batches ready", SteadyScene(0.1, 16), {0.96, 1.05, 1.10, 2, 0.01});
  add("noise 20%, 16 batches ready", SteadyScene(0.2, 16), {0.94, 1.05, 1.20, 3, 0.02});

  DemandScene scene = SteadyScene(0, 16);
  scene.batch = 8;
  scene.cycle = {{120 * kSceneRate, kSceneRate}, {0, 0, 30}};
  add("a checkpoint of 30 s every 2 min", scene, {0.97, 1.03, 1.05, 0, 0.01});
  // The mean of its need over the time is 0.84 of that in training.
  scene.cycle = {{300 * kSceneRate, kSceneRate}, {60 * 64, 64, 0, 0.001}};
  add("an evaluation of 1 min every 6 min, 1/20 of the need", scene, {0.80, 0.92, 1.05, 12, 0.01});

  scene.batch = 64;
  scene.cycle = {{4 * 3 * kSceneRate, 3 * kSceneRate}, {0, 0, 8}};
  for (const auto& [buffer, low, high] :
       {std::array{0.0, 2.6, 3.0}, std::array{8.0, 1.8, 2.1}, std::array{16.0, 0.97, 1.05},
        std::array{24.0, 0.97, 1.05}}) {
    scene.buffer = buffer;
    add("24 batches in 4 s, then 8 s without, " + std::to_string(std::lround(buffer)) + " ready",
        scene, {low, high, high + 0.05, 0, 0.02});
  }

  scene = SteadyScene(0, 0);
  scene.batch = 64;
  scene.odd_counts = true;
  add("two batches a period, one more or less", scene, {0.95, 1.05, 1.35, 8, 0.01});
  scene.odd_counts = false;
  add("two batches a period", scene, {0.97, 1.03, 1.05, 0, 0.01});

  scene = SteadyScene(0, 16);
  scene.lies = 3;
  add("3 periods of 60 read ten times the speed", scene, {0.97, 1.03, 1.05, 0, 0.01});
  scene.lies = 60;
  add("all periods read ten times the speed", scene, {1, 2.05, 2.05, 0, 0.01});
  return all;
}

struct DemandFigures {
  double mean = 0, least = 1e9, most = 0;  // demand, relative to the need
  double turns = 0;                        // mean of the seeds
  double most_turns = 0;
  double moves = 0;  // by more than 2%, mean of the seeds
  double wait = 0;
};

inline DemandFigures MeasureScene(const DemandScene& scene, unsigned seeds) {
  constexpr std::size_t kFirst = 60, kPeriods = 60 + 1800;
  constexpr double kMove = 0.02;
  DemandFigures figures;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    DemandWorld world(scene, seed);
    world.Run(kPeriods);
    double turns = 0, last = 0;
    for (std::size_t i = kFirst; i < kPeriods; ++i) {
      const double demand = world.demands()[i] / kSceneNeed;
      const double change = world.demands()[i] / world.demands()[i - 1] - 1;
      figures.mean += demand;
      figures.least = std::min(figures.least, demand);
      figures.most = std::max(figures.most, demand);
      figures.wait += world.waits()[i];
      if (std::abs(change) < kMove) continue;
      figures.moves += 1;
      if (last * change < 0) turns += 1;
      last = change;
    }
    figures.turns += turns;
    figures.most_turns = std::max(figures.most_turns, turns);
  }
  figures.mean /= seeds * (kPeriods - kFirst);
  figures.wait /= seeds * (kPeriods - kFirst);
  figures.turns /= seeds;
  figures.moves /= seeds;
  return figures;
}

}  // namespace headrace::coordinator
