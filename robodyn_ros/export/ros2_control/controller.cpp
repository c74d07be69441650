#include "controller.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>

#include "@NAME@_texts.h"
#include "fault_text.hpp"
#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/logging.hpp"

namespace @NAME@_controller
{
namespace
{

using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::interface_configuration_type;
using controller_interface::return_type;
using hardware_interface::HW_IF_ACCELERATION;
using hardware_interface::HW_IF_EFFORT;
using hardware_interface::HW_IF_POSITION;
using hardware_interface::HW_IF_VELOCITY;

constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
constexpr auto REPORT = std::chrono::milliseconds(200);
constexpr auto LONGEST_STOP = std::chrono::seconds(2);
const char * const CARRIED = "driver_compensates_gravity";  // without a default
const char * const DRIVE_GAINS[] = {"kp", "kd"};
const char * const DRIVE[] = {HW_IF_POSITION, HW_IF_VELOCITY, DRIVE_GAINS[0], DRIVE_GAINS[1]};
const char * const NAMES[] = @PREFIX@JOINT_NAMES;
const char * const SPEED_UNITS[] = @PREFIX@JOINT_SPEED_UNITS;

void append(
  InterfaceConfiguration & found, const std::vector<std::string> & joints,
  const std::string & interface)
{
  for (const auto & joint : joints) {
    found.names.push_back(joint + "/" + interface);
  }
}

}  // namespace

CallbackReturn Controller::on_init()
{
  auto_declare<std::vector<std::string>>("joints", {std::begin(NAMES), std::end(NAMES)});
  auto_declare<std::string>("block", "@BLOCK@");
  auto_declare<bool>("effort_states", false);
  get_node()->declare_parameter(CARRIED, rclcpp::ParameterType::PARAMETER_BOOL);
  auto_declare<double>("reference_reach", 0.2);
  auto_declare<std::vector<std::string>>("command_interfaces", {HW_IF_EFFORT});
  auto_declare<std::vector<double>>("drive_kp", std::vector<double>());
  auto_declare<std::vector<double>>("drive_kd", std::vector<double>());
  return CallbackReturn::SUCCESS;
}

bool Controller::claims(const std::string & interface) const
{
  return std::find(interfaces_.begin(), interfaces_.end(), interface) != interfaces_.end();
}

// Any list of position, velocity, kp, kd, and the interface of effort, by whatever name.
bool Controller::read_interfaces()
{
  const auto log = get_node()->get_logger();
  interfaces_ = get_node()->get_parameter("command_interfaces").as_string_array();
  effort_name_.clear();
  for (const auto & each : interfaces_) {
    const bool twice = std::count(interfaces_.begin(), interfaces_.end(), each) > 1;
    const bool of_drive = std::count(std::begin(DRIVE), std::end(DRIVE), each) > 0;
    if (twice || (!of_drive && !effort_name_.empty())) {
      RCLCPP_ERROR(
        log, "command_interfaces has '%s' %s: list position, velocity, kp and kd as the hardware "
        "has them, and one interface of effort", each.c_str(),
        twice ? "twice" : ("and '" + effort_name_ + "', both as effort").c_str());
      return false;
    }
    effort_name_ = of_drive ? effort_name_ : each;
  }
  const bool kp = claims(DRIVE_GAINS[0]), kd = claims(DRIVE_GAINS[1]);
  if (effort_name_.empty()) {
    RCLCPP_ERROR(
      log, "command_interfaces has no effort: add the interface that takes the torque");
    return false;
  }
  if (kp != kd || (kp && !(claims(HW_IF_POSITION) && claims(HW_IF_VELOCITY)))) {
    RCLCPP_ERROR(log, "command_interfaces has kp or kd: it needs position, velocity, kp and kd");
    return false;
  }
  const bool stiff = std::any_of(
    std::begin(drives_.kp), std::end(drives_.kp), [](double k) {return k > 0.0;});
  if (stiff && !kp) {
    RCLCPP_ERROR(
      log, "drive_kp is set, but command_interfaces has no kp: without it a stiffness acts about "
      "the measured position, and needs no value");
    return false;
  }
  drives_.commanded = kp;
  return true;
}

bool Controller::read_gains(const char * name, double * gains)
{
  const auto given = get_node()->get_parameter(name).as_double_array();
  if (!given.empty() && given.size() != static_cast<size_t>(JOINTS)) {
    RCLCPP_ERROR(
      get_node()->get_logger(), "%s has %zu numbers: give one for every of the %d joints, or none",
      name, given.size(), JOINTS);
    return false;
  }
  for (size_t j = 0; j < static_cast<size_t>(JOINTS); ++j) {
    gains[j] = given.empty() ? 0.0 : given[j];
    if (!(gains[j] >= 0.0 && std::isfinite(gains[j]))) {
      RCLCPP_ERROR(
        get_node()->get_logger(), "%s of joint '%s' is %g: it must be 0 or more, and finite", name,
        joints_[j].c_str(), gains[j]);
      return false;
    }
  }
  return true;
}

bool Controller::read_parameters()
{
  const auto node = get_node();
  const auto log = node->get_logger();
  joints_ = node->get_parameter("joints").as_string_array();
  measures_effort_ = node->get_parameter("effort_states").as_bool();
  reach_ = node->get_parameter("reference_reach").as_double();
  if (!node->get_parameter(CARRIED, carried_)) {
    RCLCPP_ERROR(
      log, "who carries the arm? Set %s: true if the hardware adds the gravity torque itself (as "
      "those of Franka, KUKA FRI, UR), or false if the efforts of this controller are all that "
      "moves the joints", CARRIED);
    return false;
  }
  if (joints_.size() != static_cast<size_t>(JOINTS)) {
    RCLCPP_ERROR(
      log, "joints has %zu names, the exported arm %d joints: leave it out, or list the names of "
      "the hardware in the order of the export", joints_.size(), JOINTS);
    return false;
  }
  if (!read_gains("drive_kp", drives_.kp) || !read_gains("drive_kd", drives_.kd)) {
    return false;
  }
  if (!(reach_ > 0.0)) {
    RCLCPP_ERROR(log, "reference_reach is %g: it must be above 0", reach_);
    return false;
  }
  return read_interfaces();
}

// Missing interfaces are refused by controller_manager; a joint of another arm is named here.
bool Controller::is_described() const
{
  const std::string & description = get_robot_description();
  for (const auto & joint : joints_) {
    if (!description.empty() && description.find("\"" + joint + "\"") == std::string::npos &&
      description.find("'" + joint + "'") == std::string::npos)
    {
      RCLCPP_ERROR(
        get_node()->get_logger(), "joint '%s' is not in robot_description: export the arm that "
        "runs here (robodyn export), or set joints to its names", joint.c_str());
      return false;
    }
  }
  return true;
}

CallbackReturn Controller::on_configure(const rclcpp_lifecycle::State &)
{
  const auto node = get_node();
  if (!read_parameters() || !is_described()) {
    return CallbackReturn::FAILURE;
  }
  reference_interfaces_.assign(3 * joints_.size(), NOT_A_NUMBER);
  loop_.reset();
  block_.reset();
  try {
    block_ = std::make_unique<SharedBlock>(node->get_parameter("block").as_string());
  } catch (const std::exception & error) {
    RCLCPP_ERROR(node->get_logger(), "%s", error.what());
    return CallbackReturn::FAILURE;
  }
  loop_ = std::make_unique<CycleLoop>(
    *block_, node->get_parameter("use_sim_time").as_bool(), carried_);
  timer_ = node->create_wall_timer(REPORT, [this] {report();});
  RCLCPP_INFO(
    node->get_logger(), "@ROBOT@, %d joints; shared block %s", JOINTS, block_->name().c_str());
  return CallbackReturn::SUCCESS;
}

CallbackReturn Controller::on_cleanup(const rclcpp_lifecycle::State &)
{
  timer_.reset();
  loop_.reset();
  block_.reset();
  return CallbackReturn::SUCCESS;
}

InterfaceConfiguration Controller::command_interface_configuration() const
{
  InterfaceConfiguration found{interface_configuration_type::INDIVIDUAL, {}};
  for (const auto & interface : interfaces_) {
    append(found, joints_, interface);
  }
  return found;
}

InterfaceConfiguration Controller::state_interface_configuration() const
{
  InterfaceConfiguration found{interface_configuration_type::INDIVIDUAL, {}};
  append(found, joints_, HW_IF_POSITION);
  append(found, joints_, HW_IF_VELOCITY);
  if (measures_effort_) {
    append(found, joints_, HW_IF_EFFORT);
  }
  return found;
}

std::vector<hardware_interface::CommandInterface> Controller::on_export_reference_interfaces()
{
  std::vector<hardware_interface::CommandInterface> found;
  reference_interfaces_.assign(3 * joints_.size(), NOT_A_NUMBER);
  double * value = reference_interfaces_.data();
  for (const char * interface : {HW_IF_POSITION, HW_IF_VELOCITY, HW_IF_ACCELERATION}) {
    for (const auto & joint : joints_) {
      found.emplace_back(get_node()->get_name(), joint + "/" + interface, value++);
    }
  }
  return found;
}

template<typename Loaned>
Loaned * find(std::vector<Loaned> & all, const std::string & name)
{
  for (auto & each : all) {
    if (each.get_name() == name) {
      return &each;
    }
  }
  return nullptr;
}

bool Controller::find_commands(const std::string & interface, Commands & found)
{
  found.clear();
  for (size_t j = 0; claims(interface) && j < joints_.size(); ++j) {
    const auto & joint = joints_[j];
    found.push_back(find(command_interfaces_, joint + "/" + interface));
    if (found.back() == nullptr) {
      RCLCPP_ERROR(
        get_node()->get_logger(), "joint '%s' has no command interface %s: add it to the tag "
        "<ros2_control> of its URDF, or leave it out of command_interfaces", joint.c_str(),
        interface.c_str());
      return false;
    }
  }
  return true;
}

bool Controller::find_states(const std::string & interface, States & found, bool required)
{
  found.clear();
  for (const auto & joint : joints_) {
    found.push_back(find(state_interfaces_, joint + "/" + interface));
    if (required && found.back() == nullptr) {
      RCLCPP_ERROR(
        get_node()->get_logger(), "joint '%s' has no state interface %s: add it to the tag "
        "<ros2_control> of its URDF", joint.c_str(), interface.c_str());
      return false;
    }
  }
  return true;
}

CallbackReturn Controller::on_activate(const rclcpp_lifecycle::State &)
{
  bool complete = find_states(HW_IF_POSITION, q_, true) && find_states(HW_IF_VELOCITY, qd_, true);
  complete = complete && find_states(HW_IF_EFFORT, measured_effort_, measures_effort_);
  complete = complete && find_commands(effort_name_, effort_) &&
    find_commands(HW_IF_POSITION, position_) && find_commands(HW_IF_VELOCITY, velocity_) &&
    find_commands(DRIVE_GAINS[0], kp_) && find_commands(DRIVE_GAINS[1], kd_);
  if (!complete) {
    return CallbackReturn::FAILURE;
  }
  reference_interfaces_.assign(reference_interfaces_.size(), NOT_A_NUMBER);
  waiting_ = refused_ = -1;
  loop_->activate();
  return CallbackReturn::SUCCESS;
}

// No update follows: the arm is brought to rest before, and the last torque compensates gravity.
CallbackReturn Controller::on_deactivate(const rclcpp_lifecycle::State &)
{
  loop_->close();  // an update may be under way in the real-time thread
  read_state();
  if (std::this_thread::get_id() != updater_) {
    stop();
  }
  const int j = loop_->moving();
  if (loop_->end()) {
    write_commands();
    if (j >= 0) {
      RCLCPP_WARN(
        get_node()->get_logger(), "deactivated while joint '%s' moves at %.3g %s: its last torque "
        "only compensates gravity where it was; end the motion before, or activate another "
        "controller of the arm in the same switch", joints_[j].c_str(), loop_->state().qd[j],
        SPEED_UNITS[j]);
    }
  }
  return CallbackReturn::SUCCESS;
}

// Not in the real-time thread, whose reads and writes of the hardware go on meanwhile.
void Controller::stop()
{
  const std::chrono::duration<double> period(1.0 / std::max(1u, get_update_rate()));
  const auto end = std::chrono::steady_clock::now() + LONGEST_STOP;
  while (loop_->stop() && std::chrono::steady_clock::now() < end) {
    loop_->update(get_node()->now().nanoseconds());
    write_commands();
    std::this_thread::sleep_for(period);
    read_state();
  }
}

bool Controller::on_set_chained_mode(bool chained)
{
  if (!loop_->chain(chained)) {
    RCLCPP_ERROR(
      get_node()->get_logger(), "a node owns the motions of this arm: deactivate it before another "
      "controller gives references");
    return false;
  }
  reference_interfaces_.assign(reference_interfaces_.size(), NOT_A_NUMBER);
  return true;
}

return_type Controller::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration &)
{
  return return_type::OK;
}

return_type Controller::update_and_write_commands(
  const rclcpp::Time & time, const rclcpp::Duration &)
{
  updater_ = std::this_thread::get_id();
  if (!loop_->enter()) {
    return return_type::OK;
  }
  read_state();
  if (is_in_chained_mode()) {
    const double * references = reference_interfaces_.data();
    const int refused = loop_->follow(
      references, references + JOINTS, references + 2 * JOINTS, reach_);
    if (refused >= 0) {
      refused_ = refused;
    }
  }
  if (loop_->update(time.nanoseconds())) {
    waiting_ = -1;
    write_commands();
  }
  const auto & memory = loop_->memory();
  const auto & fault = memory.motion.fault;
  fault_joint_ = static_cast<int>(fault.joint);
  fault_value_ = fault.value;
  fault_bound_ = fault.bound;
  fault_time_ = fault.time;
  fault_ = static_cast<int>(fault.code);  // last: with it the others are read
  owned_ = loop_->has_owner();
  loop_->leave();
  return return_type::OK;
}

void Controller::read_state()
{
  auto & state = loop_->state();
  for (int j = 0; j < JOINTS; ++j) {
    state.q[j] = q_[j]->get_optional().value_or(NOT_A_NUMBER);
    state.qd[j] = qd_[j]->get_optional().value_or(NOT_A_NUMBER);
    state.effort[j] = measures_effort_ ?
      measured_effort_[j]->get_optional().value_or(NOT_A_NUMBER) : NOT_A_NUMBER;
    if (!loop_->has_begun() && !(std::isfinite(state.q[j]) && std::isfinite(state.qd[j]))) {
      waiting_ = j;
    }
  }
}

void Controller::write_commands()
{
  bool written = true;
  const auto write = [&written](Commands & commands, const double * values) {
      for (auto * command : commands) {
        written = command->set_value(*values++) && written;
      }
    };
  const auto command = loop_->drive(drives_);
  write(position_, command.q);
  write(velocity_, command.qd);
  write(kp_, command.kp);
  write(kd_, command.kd);
  write(effort_, command.effort);
  if (!written) {
    ++unwritten_;
  }
}

void Controller::report()
{
  const auto log = get_node()->get_logger();
  const int waiting = waiting_, refused = refused_.exchange(-1), fault = fault_;
  const unsigned unwritten = unwritten_;
  if (waiting != logged_waiting_ && waiting >= 0) {
    RCLCPP_WARN(
      log, "waiting: joint '%s' reports no finite position and velocity yet; the arm is not "
      "controlled before that", joints_[waiting].c_str());
  }
  if (refused != logged_refused_ && refused >= 0) {
    RCLCPP_ERROR(
      log, "the reference of joint '%s' is more than reference_reach (%g) from the present one: "
      "the arm is stopped, and follows again when it is near", joints_[refused].c_str(), reach_);
  }
  if (fault != logged_fault_ && fault != 0) {
    const auto text = text_of(
      {fault, fault_joint_, fault_value_, fault_bound_, fault_time_}, joints_);
    RCLCPP_ERROR(
      log, "fault: %s. The arm is stopped and held; to reset the fault deactivate and activate this "
      "controller, or call ~/reset_fault of the node that owns it", text.c_str());
  }
  if (owned_ != logged_owned_) {
    RCLCPP_INFO(log, owned_ ? "a node owns the motions now" : "no node owns the motions now");
  }
  if (unwritten != logged_unwritten_) {
    RCLCPP_ERROR(log, "%u times a command interface could not be written", unwritten);
  }
  logged_waiting_ = waiting;
  logged_refused_ = refused;
  logged_fault_ = fault;
  logged_owned_ = owned_;
  logged_unwritten_ = unwritten;
}

}  // namespace @NAME@_controller

PLUGINLIB_EXPORT_CLASS(
  @NAME@_controller::Controller, controller_interface::ChainableControllerInterface)
