#include "cycle_loop.hpp"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

namespace @NAME@_controller
{
namespace
{

constexpr double HORIZON = 0.1;  // s for which a reference from upstream is continued
constexpr int POWERS = 4 * JOINTS;  // from one power to the next in a segment

double seconds(clockid_t clock)
{
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Return the first joint that is not at rest, or -1.
int first_moving(const double * qd)
{
  for (int j = 0; j < JOINTS; ++j) {
    if (!(std::fabs(qd[j]) <= AT_REST)) {
      return j;
    }
  }
  return -1;
}

bool is_finite(const @NAME@_state & state)
{
  for (int j = 0; j < JOINTS; ++j) {
    if (!std::isfinite(state.q[j]) || !std::isfinite(state.qd[j])) {
      return false;
    }
  }
  return true;
}

}  // namespace

CycleLoop::CycleLoop(SharedBlock & block, bool simulated, bool carried)
: block_(block), simulated_(simulated), carried_(carried)
{
}

void CycleLoop::activate()
{
  *memory_ = @NAME@_initial_memory;
  program_ = @NAME@_initial_program;
  program_.acceptance.simulated = simulated_ ? 1.0 : 0.0;
  for (int j = 0; carried_ && j < JOINTS; ++j) {
    program_.gains.gravity_scale[j] = program_.gains.safe_gravity_scale[j] = 0.0;
  }
  begun_ = owned_ = follows_ = stopping_ = false;
  taken_ = released_ = 0;
  turn_ = @NAME@_initial_turn_memory;
  block_.store(@PREFIX@WORD_SESSION, ++session_);
  closed_ = false;
}

bool CycleLoop::enter()
{
  inside_ = true;  // before `closed_` is read, as close() writes that before it reads this
  if (closed_) {
    inside_ = false;
  }
  return inside_;
}

void CycleLoop::leave()
{
  inside_ = false;
}

void CycleLoop::close()
{
  closed_ = true;
  while (inside_) {
    std::this_thread::yield();
  }
}

bool CycleLoop::update(int64_t stamp)
{
  state_.now = state_.arrival = seconds(CLOCK_MONOTONIC);
  state_.stamp = simulated_ ? 1e-9 * static_cast<double>(stamp) : 0.0;
  state_.clock = simulated_ ? state_.stamp : seconds(CLOCK_REALTIME);
  inputs_.now = state_.arrival;
  if (!begun_) {
    if (!is_finite(state_)) {
      return false;
    }
    state_.now = simulated_ ? state_.stamp : state_.now;
    take_over();
    begun_ = true;
  }
  const Newest newest = take_newest();
  inputs_.alive = owned_ ? block_.number(@PREFIX@WORD_ALIVE) : state_.arrival;
  pace_.patience = owned_ ? block_.number(@PREFIX@WORD_PATIENCE) : 0.0;
  for (const double received : {1.0, 0.0}) {  // if the state cannot be used: a turn without one
    inputs_.received = received;
    turn(@NAME@_turn_begin);
    run(turn_.kind, newest);
    inputs_.kind = memory_->acceptance.kind;
    turn(@NAME@_turn_end);
    if (inputs_.kind != @PREFIX@KIND_REQUESTS) {
      break;
    }
  }
  block_.store(@PREFIX@WORD_ACTIVE, !stopping_);
  record(stamp);
  block_.store(@PREFIX@WORD_USED, newest.number);
  return true;
}

bool CycleLoop::stop()
{
  const double mode = memory_->motion.mode;
  // the executor of a switch may deliver no states: then the arm is at rest once its reference is
  const bool moves = memory_->acceptance.kind == @PREFIX@KIND_SILENT ?
    first_moving(memory_->motion.reference.qd) >= 0 : mode == @PREFIX@TRACK ||
    mode == @PREFIX@REACH || mode == @PREFIX@STOP || moving() >= 0;
  // in CARRY the torque is that of gravity already, or was faded out by its owner
  if (!begun_ || mode == @PREFIX@CARRY || !moves) {
    return false;
  }
  if (!stopping_) {
    program_ = *take_newest().program;  // its gains and limits stay
    program_.motion.kind = @PREFIX@TO_REST;
    program_.motion.request = memory_->motion.request + 1.0;
    stopping_ = true;
  }
  return true;
}

int CycleLoop::moving() const
{
  return first_moving(memory_->qd);
}

bool CycleLoop::end()
{
  block_.store(@PREFIX@WORD_ACTIVE, 0);
  if (!begun_) {
    return false;
  }
  const auto program = take_newest().program;
  // in CARRY the torque is that of gravity already, or was faded out by its owner
  const bool carries = memory_->motion.mode == @PREFIX@CARRY;
  fades_ = carries && program->motion.shutdown.releases > 0.0;
  if (is_finite(state_) && !carries) {
    program_ = *program;
    take_over();
    std::memcpy(torque_, memory_->sent, sizeof(torque_));
  }
  begun_ = false;
  return true;
}

DriveCommand CycleLoop::drive(@NAME@_drives drives) const
{
  static_assert(sizeof(DriveCommand) == 5 * JOINTS * sizeof(double), "rows of the command");
  drives.last = !begun_ && !fades_;
  DriveCommand command;
  @NAME@_command(torque_, memory_, &drives, command.effort);
  return command;
}

void CycleLoop::turn(decltype(@NAME@_turn_begin) & step)
{
  const auto before = turn_;
  double result;
  step(&inputs_, &before, &pace_, &turn_, &result);
}

void CycleLoop::run(double kind, const Newest & newest)
{
  state_.kind = kind;
  state_.permitted = turn_.permitted;
  state_.unattended = turn_.unattended;
  @NAME@_cycle(newest.path, newest.rows, &state_, memory_, newest.program, torque_, next_);
  std::swap(memory_, next_);
}

void CycleLoop::take_over()
{
  program_.motion.kind = @PREFIX@TO_TAKE_OVER;
  program_.motion.request = memory_->motion.request + 1.0;
  run(@PREFIX@KIND_REQUESTS, {&program_, path_});
}

// The program of the owner, with what it hands over; without an owner that of this controller.
CycleLoop::Newest CycleLoop::take_newest()
{
  int64_t k;
  do {  // the owner may have swapped before `using` was visible to it; it waits for `used` then
    k = block_.load(@PREFIX@WORD_CURRENT);
    block_.store(@PREFIX@WORD_USING, k);
  } while (k != block_.load(@PREFIX@WORD_CURRENT));
  if (k < 0 || k > 2) {
    return {&program_, path_};
  }
  const int words = @PREFIX@WORD_NUMBER0 + @PREFIX@PROGRAM_WORDS * static_cast<int>(k);
  const int64_t handover = block_.load(words + 2);
  if (chained_ || stopping_ || handover == released_ || block_.load(words + 3) != session_) {
    return {&program_, path_};  // what is there is of an owner that has gone, or of the last activation
  }
  if (handover != taken_) {
    std::memcpy(memory_, block_.at(@PREFIX@BLOCK_HANDOVER), sizeof(*memory_));
    taken_ = handover;
    owned_ = true;
    follows_ = false;
  }
  return {
    static_cast<const @NAME@_program *>(block_.at(
      @PREFIX@BLOCK_PROGRAMS + static_cast<size_t>(k) * @PREFIX@PROGRAM_BYTES)),
    static_cast<const double *>(block_.at(
      @PREFIX@BLOCK_SEGMENTS + static_cast<size_t>(k) * @PREFIX@SEGMENTS_BYTES)),
    static_cast<int32_t>(std::clamp<int64_t>(block_.load(words + 1), 1, @PREFIX@SEGMENT_ROWS)),
    block_.load(words)};
}

bool CycleLoop::chain(bool chained)
{
  if (chained && has_owner()) {
    return false;
  }
  if (chained && owned_) {  // by a node that has ended: its gains and limits stay
    program_ = *take_newest().program;
    // nobody measures the loop any more, which a soft hold waits for
    for (double & softness : program_.probe.softness) {
      if (softness > 0.0 && softness <= CAUTION) {
        softness = 0.0;
        program_.switch_ += 1.0;
      }
    }
    released_ = taken_;
    owned_ = false;
  }
  chained_ = chained;
  block_.store(@PREFIX@WORD_CHAINED, chained);
  rest();
  return true;
}

int CycleLoop::follow(const double * q, const double * qd, const double * qdd, double reach)
{
  if (!begun_) {
    return -1;
  }
  for (int j = 0; j < JOINTS; ++j) {
    if (!std::isfinite(q[j])) {
      rest();
      return -1;
    }
  }
  for (int j = 0; j < JOINTS; ++j) {
    if (!(std::fabs(q[j] - memory_->motion.reference.q[j]) <= reach)) {
      rest();
      return j;
    }
  }
  auto & motion = program_.motion;
  auto & upcoming = motion.upcoming;
  std::memset(path_, 0, sizeof(path_));
  for (int j = 0; j < JOINTS; ++j) {
    const double v = std::isfinite(qd[j]) ? qd[j] : 0.0;
    const double a = std::isfinite(qdd[j]) ? qdd[j] : 0.0;
    double * position = path_ + 1 + j;
    double * velocity = position + JOINTS;
    double * acceleration = velocity + JOINTS;
    position[0] = q[j];
    position[POWERS] = v;
    position[2 * POWERS] = 0.5 * a;
    velocity[0] = v;
    velocity[POWERS] = a;
    acceleration[0] = a;
    upcoming.first_q[j] = q[j];
    upcoming.last_q[j] = q[j] + (v + 0.5 * a * HORIZON) * HORIZON;
    upcoming.path_q[j] = upcoming.path_qd[j] = std::numeric_limits<double>::infinity();
    upcoming.goal_q[j] = upcoming.goal_qd[j] = std::numeric_limits<double>::infinity();
  }
  upcoming.number = std::fmax(memory_->motion.path.number, memory_->motion.dropped) + 1.0;
  upcoming.moment = -std::numeric_limits<double>::infinity();  // with this update
  upcoming.row = 0.0;
  upcoming.rows = 1.0;
  upcoming.first = 0.0;
  upcoming.last = HORIZON;
  motion.kind = @PREFIX@TO_FOLLOW;
  motion.request += 1.0;
  follows_ = true;
  return -1;
}

void CycleLoop::rest()
{
  if (follows_) {
    follows_ = false;
    program_.motion.kind = @PREFIX@TO_REST;
    program_.motion.request += 1.0;
  }
}

void CycleLoop::record(int64_t stamp)
{
  auto row = static_cast<char *>(block_.at(
      @PREFIX@BLOCK_RING + static_cast<size_t>(count_ % @PREFIX@RING_ROWS) * @PREFIX@ROW_BYTES));
  auto words = reinterpret_cast<int64_t *>(row);
  __atomic_store_n(words, -1, __ATOMIC_SEQ_CST);
  const double end = seconds(CLOCK_MONOTONIC);
  words[@PREFIX@ROW_STAMP] = stamp;
  std::memcpy(words + @PREFIX@ROW_ARRIVAL, &state_.arrival, sizeof(double));
  std::memcpy(words + @PREFIX@ROW_WALL, &state_.clock, sizeof(double));
  std::memcpy(words + @PREFIX@ROW_END, &end, sizeof(double));
  words[@PREFIX@ROW_SENT] = count_ + 1;
  std::memcpy(words + @PREFIX@ROW_WORDS, memory_, sizeof(*memory_));
  __atomic_store_n(words, count_, __ATOMIC_SEQ_CST);
  block_.store(@PREFIX@WORD_COUNT, ++count_);
}

}  // namespace @NAME@_controller
