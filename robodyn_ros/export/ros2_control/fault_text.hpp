// Text of a fault of the cycle.

#ifndef FAULT_TEXT_HPP_
#define FAULT_TEXT_HPP_

#include <string>
#include <vector>

namespace @NAME@_controller
{

/// Code of a fault, and its evidence.
struct Fault
{
  int code = 0;
  int joint = 0;
  double value = 0.0;
  double bound = 0.0;
  double time = 0.0;
};

/// Return the reason of a fault, with the names of the joints in order.
std::string text_of(const Fault & fault, const std::vector<std::string> & joints);

}  // namespace @NAME@_controller

#endif  // FAULT_TEXT_HPP_
