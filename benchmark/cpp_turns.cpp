// Times of Pinocchio, called from C++, and of exported C, in turns; see cpp.py.
#include <pinocchio/fwd.hpp>

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/parsers/urdf.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

extern "C" {
#include "robot.h"
}

namespace pin = pinocchio;
using Vector = Eigen::VectorXd;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
constexpr int STATES = 64, TURNS = 400;

// Mean time of a call in us, over states that differ.
double turn(const std::function<void(int)> &call, int calls)
{
  const auto begin = std::chrono::steady_clock::now();
  for (int k = 0; k < calls; ++k) {call(k % STATES);}
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  return time.count() / calls;
}

double quantile(std::vector<double> values, double part)
{
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * (values.size() - 1))];
}

void compare(
  const char *name, const std::function<void(int)> &ours, const std::function<void(int)> &theirs,
  const std::function<double()> &error)
{
  for (int k = 0; k < STATES; ++k) {
    ours(k), theirs(k);
    if (!(error() < 1e-9)) {std::printf("%s differs by %g\n", name, error()), std::exit(1);}
  }
  const int calls = std::max(1, static_cast<int>(500.0 / turn(theirs, 1000)));  // half a millisecond
  std::vector<double> own, other, ratio;
  for (int k = 0; k < TURNS; ++k) {
    own.push_back(turn(ours, calls)), other.push_back(turn(theirs, calls));
    ratio.push_back(other.back() / own.back());
  }
  std::printf("%-32s %6.3f (%.3f-%.3f)  %6.3f (%.3f-%.3f)  %5.1f (%.1f-%.1f)\n", name,
    quantile(own, 0.5), quantile(own, 0.25), quantile(own, 0.75),
    quantile(other, 0.5), quantile(other, 0.25), quantile(other, 0.75),
    quantile(ratio, 0.5), quantile(ratio, 0.25), quantile(ratio, 0.75));
}

int main(int, char **arguments)
{
  pin::Model model;
  pin::urdf::buildModel(arguments[1], model);
  pin::Data data(model);
  const int n = model.nv;
  std::mt19937 random(0);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<Vector> q(STATES), qd(STATES), qdd(STATES), force(STATES);
  for (int k = 0; k < STATES; ++k) {
    for (auto *all : {&q, &qd, &qdd, &force}) {
      (*all)[k] = Vector::NullaryExpr(n, [&]() {return uniform(random);});
    }
    force[k] *= 10.0;
  }
  Vector vector(n);
  Matrix square(n, n), parts(3 * n, n);  // by q, by qd, by tau
  const auto vectors = [&](const Vector &theirs) {
      return (vector - theirs).cwiseAbs().maxCoeff() / theirs.cwiseAbs().maxCoeff();
    };

  compare("inverse dynamics",
    [&](int k) {robot_inverse_dynamics(robot_loads, q[k].data(), qd[k].data(), qdd[k].data(), vector.data());},
    [&](int k) {pin::rnea(model, data, q[k], qd[k], qdd[k]);}, [&]() {return vectors(data.tau);});
  compare("gravity",
    [&](int k) {robot_gravity(robot_loads, q[k].data(), vector.data());},
    [&](int k) {pin::computeGeneralizedGravity(model, data, q[k]);}, [&]() {return vectors(data.g);});
  compare("mass matrix",
    [&](int k) {robot_mass_matrix(robot_loads, q[k].data(), square.data());},
    [&](int k) {pin::crba(model, data, q[k], pin::Convention::LOCAL);},
    [&]() {
      const Eigen::MatrixXd whole = data.M.selfadjointView<Eigen::Upper>();
      return (square - whole).cwiseAbs().maxCoeff() / whole.cwiseAbs().maxCoeff();
    });
  compare("forward dynamics",
    [&](int k) {robot_forward_dynamics(robot_loads, q[k].data(), qd[k].data(), force[k].data(), vector.data());},
    [&](int k) {pin::aba(model, data, q[k], qd[k], force[k], pin::Convention::WORLD);},
    [&]() {return vectors(data.ddq);});
  compare("derivatives of forward dynamics",
    [&](int k) {
      robot_forward_dynamics_derivatives(
        robot_loads, q[k].data(), qd[k].data(), force[k].data(), parts.data());
    },
    [&](int k) {pin::computeABADerivatives(model, data, q[k], qd[k], force[k]);},
    [&]() {
      return (parts.topRows(n) - data.ddq_dq).cwiseAbs().maxCoeff() / data.ddq_dq.cwiseAbs().maxCoeff();
    });
}
