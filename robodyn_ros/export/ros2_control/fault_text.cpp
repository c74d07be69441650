#include "fault_text.hpp"

#include <cmath>
#include <cstdio>
#include <utility>

#include "@NAME@_texts.h"

namespace @NAME@_controller
{
namespace
{

struct Text
{
  int code;
  const char * text;
};

const Text TEXTS[] = @PREFIX@FAULT_TEXTS;
const char * const EFFORT_UNITS[] = @PREFIX@JOINT_EFFORT_UNITS;
const char * const SPEED_UNITS[] = @PREFIX@JOINT_SPEED_UNITS;

std::string number(double value)
{
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

}  // namespace

std::string text_of(const Fault & fault, const std::vector<std::string> & joints)
{
  std::string text = "code " + std::to_string(fault.code) + ", see the log of the node";
  for (const auto & each : TEXTS) {
    if (each.code == fault.code) {
      text = each.text;
    }
  }
  const size_t joint = static_cast<size_t>(fault.joint);
  const bool known = joint < joints.size();
  const double bound = fault.bound != 0.0 ? fault.bound : 1.0;
  const std::pair<const char *, std::string> fields[] = {
    {"{joint}", known ? joints[joint] : ""},
    {"{unit}", known ? EFFORT_UNITS[joint] : ""},
    {"{speed}", known ? SPEED_UNITS[joint] : ""}, {"{value}", number(fault.value)},
    {"{bound}", number(fault.bound)}, {"{time}", number(fault.time)},
    {"{percent}", number(std::round(100.0 * std::fabs(fault.value) / bound))}};
  for (const auto & [name, value] : fields) {
    const std::string field = name;
    for (size_t at; (at = text.find(field)) != std::string::npos; ) {
      text.replace(at, field.size(), value);
    }
  }
  return text;
}

}  // namespace @NAME@_controller
