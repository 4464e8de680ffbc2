#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "simulate/cluster.h"
#include "simulate/job.h"
#include "simulate/outcome.h"

// Pictures of a simulation, as self-contained SVG.
namespace headrace::simulate {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x rising
};
struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool log_x = false;         // points with x <= 0 are left out
  bool steps = false;         // a value holds until the next point
  double top = 0;             // end of the y axis, which begins at 0; 0: the largest y
  std::vector<Curve> curves;  // at most four
};
[[nodiscard]] std::string ToSvg(const Chart& chart);

// File names and their charts: jct_cdf.svg, gpus.svg, cores.svg.
[[nodiscard]] std::vector<std::pair<std::string, Chart>> ChartsOf(const Trace& trace,
                                                                  const Cluster& cluster,
                                                                  const Outcome& outcome);

}  // namespace headrace::simulate
