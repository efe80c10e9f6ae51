// The quantile by Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.
#include <cmath>
#include <numbers>

#include "measure/stats/summary.h"

namespace pqedge::measure {

namespace {

// P(|T| <= t) as a finite sum: 26.7.3 for odd degrees of freedom, 26.7.4 for even ones.
double within(double t, size_t degrees) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(degrees)));
  const double cosine = std::cos(angle);
  const double square = cosine * cosine;
  const bool odd = degrees % 2 == 1;
  if (degrees == 1) return 2 * angle / std::numbers::pi;
  double term = odd ? cosine : 1;
  double sum = term;
  for (size_t i = odd ? 3 : 2; i < degrees; i += 2) {
    term *= square * static_cast<double>(i - 1) / static_cast<double>(i);
    sum += term;
  }
  sum *= std::sin(angle);
  return odd ? 2 / std::numbers::pi * (angle + sum) : sum;
}

double by_bisection(size_t degrees) {
  double low = 1.95;
  double high = 13;  // 12.706 for one degree of freedom
  for (int i = 0; i < 60; ++i) {
    const double t = low + (high - low) / 2;
    (within(t, degrees) < 0.95 ? low : high) = t;
  }
  return low;
}

// 26.7.5: what the quantile differs from the normal distribution's, in powers of 1 / degrees.
double by_expansion(double n) {
  const double x = 1.959963984540054;  // the normal distribution's quantile
  const double x2 = x * x;
  const double g1 = x * (x2 + 1) / 4;
  const double g2 = x * ((5 * x2 + 16) * x2 + 3) / 96;
  const double g3 = x * (((3 * x2 + 19) * x2 + 17) * x2 - 15) / 384;
  const double g4 = x * ((((79 * x2 + 776) * x2 + 1482) * x2 - 1920) * x2 - 945) / 92160;
  return x + (g1 + (g2 + (g3 + g4 / n) / n) / n) / n;
}

constexpr size_t kExpansionFrom = 200;  // there the two differ by less than 1e-10

}  // namespace

double student_t_975(size_t degrees_of_freedom) {
  return degrees_of_freedom < kExpansionFrom
             ? by_bisection(degrees_of_freedom)
             : by_expansion(static_cast<double>(degrees_of_freedom));
}

}  // namespace pqedge::measure
