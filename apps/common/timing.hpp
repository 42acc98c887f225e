#pragma once

/// The clock of the programs.

namespace apps {

double now();  ///< seconds

/// Time since it was made or last asked.
class lap_timer {
 public:
  void add_to(double& seconds) {
    double const end = now();
    seconds += end - begin_;
    begin_ = end;
  }

 private:
  double begin_ = now();
};

}  // namespace apps
