// Computed-torque control of @ROBOT@ as a controller of ros2_control.

#ifndef CONTROLLER_HPP_
#define CONTROLLER_HPP_

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "cycle_loop.hpp"
#include "rclcpp/timer.hpp"

namespace @NAME@_controller
{

/// Reads position and velocity, writes effort; alone, or behind a controller of joint motions.
class Controller : public controller_interface::ChainableControllerInterface
{
public:
  controller_interface::CallbackReturn on_init() override;
  controller_interface::CallbackReturn on_configure(
    const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_activate(
    const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_deactivate(
    const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_cleanup(
    const rclcpp_lifecycle::State & previous) override;
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;

protected:
  std::vector<hardware_interface::CommandInterface> on_export_reference_interfaces() override;
  bool on_set_chained_mode(bool chained) override;
  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;
  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

private:
  using Commands = std::vector<hardware_interface::LoanedCommandInterface *>;
  using States = std::vector<hardware_interface::LoanedStateInterface *>;

  bool read_parameters();
  bool read_gains(const char * name, double * gains);
  bool read_interfaces();
  bool claims(const std::string & interface) const;
  bool is_described() const;
  bool find_commands(const std::string & interface, Commands & found);
  bool find_states(const std::string & interface, States & found, bool required);
  void read_state();
  void write_commands();
  void stop();
  void report();

  std::unique_ptr<SharedBlock> block_;
  std::unique_ptr<CycleLoop> loop_;
  rclcpp::TimerBase::SharedPtr timer_;
  std::vector<std::string> joints_;
  std::vector<std::string> interfaces_;  // of commands
  std::string effort_name_;              // the interface that is none of DRIVE
  @NAME@_drives drives_ = @NAME@_initial_drives;
  double reach_ = 0.0;
  bool measures_effort_ = false, carried_ = false;

  Commands effort_, position_, velocity_, kp_, kd_;  // empty: not claimed
  States q_, qd_, measured_effort_;

  std::atomic<std::thread::id> updater_{std::thread::id()};

  // for the log, which is written outside of the real-time thread
  std::atomic<int> waiting_{-1}, refused_{-1}, fault_{0}, fault_joint_{0};
  std::atomic<double> fault_value_{0.0}, fault_bound_{0.0}, fault_time_{0.0};
  std::atomic<bool> owned_{false};
  std::atomic<unsigned> unwritten_{0};
  int logged_waiting_ = -1, logged_refused_ = -1, logged_fault_ = 0;
  bool logged_owned_ = false;
  unsigned logged_unwritten_ = 0;
};

}  // namespace @NAME@_controller

#endif  // CONTROLLER_HPP_
