// The control cycle between states and torques, and its exchange with the node that owns it.

#ifndef CYCLE_LOOP_HPP_
#define CYCLE_LOOP_HPP_

#include <atomic>
#include <cstdint>

#include "@NAME@.h"
#include "shared_block.hpp"

namespace @NAME@_controller
{

constexpr int JOINTS = @PREFIX@JOINTS;
constexpr double AT_REST = 0.02;  // rad/s or m/s
constexpr double CAUTION = 0.5;  // softness of a hold whose loop an owner has not measured yet

/// What drives with a stiffness and damping of their own take, for each joint; rows as exported.
struct DriveCommand
{
  double effort[JOINTS], q[JOINTS], qd[JOINTS], kp[JOINTS], kd[JOINTS];
};

/// Runs the cycle; nothing here allocates, locks, logs or waits, except the constructor and close().
///
/// Without an owner the arm is held with the program of the export. An owner hands over a memory
/// and a program; its motions are stopped if it falls silent.
class CycleLoop
{
public:
  /// simulated: whether the time of the cycle is that of the stamps. carried: whether the hardware
  /// adds the gravity torque, which is then not commanded.
  CycleLoop(SharedBlock & block, bool simulated, bool carried);

  /// Forget the last activation: the next update with a finite state takes the arm over.
  void activate();

  /// Return the state, to be written before each update: q, qd, effort (NaN if not measured).
  @NAME@_state & state() {return state_;}

  /// Begin an update in the real-time thread; return false if another thread has taken over.
  ///
  /// The state is written, and update() called, between this and leave().
  bool enter();
  void leave();

  /// Take over from the real-time thread until the next activation; wait for its update to end.
  void close();

  /// Compute the torque for the state; return whether there is one.
  bool update(int64_t stamp);

  /// Stop the arm in the updates from now on, whatever an owner or upstream asks for.
  ///
  /// To be called before each of them; return whether the arm moves, so that another one is needed.
  bool stop();

  /// Return the first joint that is not at rest, or -1.
  int moving() const;

  /// Compute the last torque: that of gravity, or the one of the last update.
  bool end();

  /// Take references from an upstream controller from now on, or no longer, which stops the arm.
  ///
  /// Return false if an owner has the arm.
  bool chain(bool chained);

  /// Follow a reference from an upstream controller in the next update; stop if it is not finite.
  ///
  /// Return the first joint whose reference is further from the present one than `reach`, which is
  /// refused and stops the arm, or -1.
  int follow(const double * q, const double * qd, const double * qdd, double reach);

  /// Return the command of torque() for drives.
  ///
  /// After end() it may be the last one: the drives hold where the arm is, unless its owner has
  /// faded out its torque.
  DriveCommand drive(@NAME@_drives drives) const;

  const double * torque() const {return torque_;}
  const @NAME@_memory & memory() const {return *memory_;}
  bool has_begun() const {return begun_;}
  bool has_owner() const {return owned_ && turn_.unattended == 0.0;}

private:
  struct Newest
  {
    const @NAME@_program * program;
    const double * path;
    int32_t rows = 1;
    int64_t number = 0;  // of the owner's program
  };

  void turn(decltype(@NAME@_turn_begin) & step);
  void run(double kind, const Newest & newest);
  void take_over();
  Newest take_newest();
  void record(int64_t stamp);
  void rest();

  SharedBlock & block_;
  const bool simulated_, carried_;
  @NAME@_state state_ = {};
  @NAME@_turn_inputs inputs_ = {};
  @NAME@_turn_memory turn_ = @NAME@_initial_turn_memory;
  @NAME@_turn_program pace_ = {};  // period 0: a torque is due in every update
  @NAME@_memory memories_[2] = {};
  @NAME@_memory * memory_ = memories_;
  @NAME@_memory * next_ = memories_ + 1;
  @NAME@_program program_ = {};  // of an arm without owner
  double path_[@PREFIX@SEGMENT] = {};
  double torque_[JOINTS] = {};
  int64_t session_ = 0, count_ = 0, taken_ = 0, released_ = 0;
  bool begun_ = false, owned_ = false, follows_ = false, chained_ = false;
  bool stopping_ = false;
  bool fades_ = false;  // whether an owner has faded out the torque that is the last one
  std::atomic<bool> inside_{false}, closed_{false};
};

}  // namespace @NAME@_controller

#endif  // CYCLE_LOOP_HPP_
