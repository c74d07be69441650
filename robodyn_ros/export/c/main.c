/*
 * Example: use of the exported functions, and their time per call.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "@NAME@.h"

#define STEP 0.001 /* s */

@START@
@if cycle
@GOAL@
@end

static double q[@JOINTS@];
static double qd[@JOINTS@];
static double qdd[@JOINTS@];
static double tau[@JOINTS@];
static double result[@RESULT@];

@if cycle
static struct @NAME@_state state;
static struct @NAME@_memory memory;
static struct @NAME@_memory next;
static struct @NAME@_program program;
static double path[@PREFIX@SEGMENT];

/* One cycle with the present state; a controller calls this, and sends tau. */
static void run_cycle(void)
{
    for (int32_t i = 0; i < @JOINTS@; ++i) {
        state.q[i] = q[i];
        state.qd[i] = qd[i];
        state.effort[i] = (double)NAN; /* not measured */
    }
    @NAME@_cycle(path, 1, &state, &memory, &program, tau, &next);
    memory = next;
}

static void ask(double kind)
{
    program.motion.kind = kind;
    program.motion.request += 1.0;
}

@if simulated
/* The simulated arm: semi-implicit Euler steps. */
static void move(void)
{
    @NAME@_forward_dynamics(@NAME@_loads, q, qd, tau, qdd);
    for (int32_t i = 0; i < @JOINTS@; ++i) {
        qd[i] += STEP * qdd[i];
        q[i] += STEP * qd[i];
    }
}
@else
/* Without forward dynamics there is no simulated arm: the state stays as it is. */
static void move(void)
{
    (void)qdd;
}
@end

/* Element of a segment: coefficient of a power, of position, velocity, acceleration or effort. */
static double *coefficient(int32_t power, int32_t kind, int32_t joint)
{
    return &path[1 + (((power * 4) + kind) * @JOINTS@) + joint];
}

/* Follow one quintic segment from rest to rest, from now on. */
static void follow(double duration)
{
    const double t3 = duration * duration * duration;

    path[0] = 0.0;
    for (int32_t i = 0; i < @JOINTS@; ++i) {
        const double c3 = 10.0 * (goal[i] - start[i]) / t3;
        const double c4 = -1.5 * c3 / duration;
        const double c5 = -0.4 * c4 / duration;
        *coefficient(0, 0, i) = start[i];
        *coefficient(3, 0, i) = c3;
        *coefficient(4, 0, i) = c4;
        *coefficient(5, 0, i) = c5;
        *coefficient(2, 1, i) = 3.0 * c3;
        *coefficient(3, 1, i) = 4.0 * c4;
        *coefficient(4, 1, i) = 5.0 * c5;
        *coefficient(1, 2, i) = 6.0 * c3;
        *coefficient(2, 2, i) = 12.0 * c4;
        *coefficient(3, 2, i) = 20.0 * c5;
        program.motion.upcoming.first_q[i] = start[i];
        program.motion.upcoming.last_q[i] = goal[i];
        program.motion.upcoming.path_q[i] = (double)INFINITY; /* no tolerances */
        program.motion.upcoming.path_qd[i] = (double)INFINITY;
        program.motion.upcoming.goal_q[i] = (double)INFINITY;
        program.motion.upcoming.goal_qd[i] = (double)INFINITY;
    }
    program.motion.upcoming.number += 1.0;
    program.motion.upcoming.moment = memory.last_time;
    program.motion.upcoming.row = 0.0;
    program.motion.upcoming.rows = 1.0;
    program.motion.upcoming.last = duration;
    ask(@PREFIX@TO_FOLLOW);
}

/* Control the arm for some cycles; return the largest distance from the reference. */
static double control(int32_t cycles)
{
    double largest = 0.0;

    state.kind = @PREFIX@KIND_FROM_STATE;
    for (int32_t k = 0; k < cycles; ++k) {
        state.now += STEP;
        run_cycle();
        for (int32_t i = 0; i < @JOINTS@; ++i) {
            largest = fmax(largest, fabs(memory.motion.reference.q[i] - q[i]));
        }
        move();
    }
    return largest;
}

static void show(const char *what, double distance)
{
    (void)printf("%s: mode %.0f, fault %.0f, largest distance from the reference %.3g\n", what,
                 memory.motion.mode, memory.motion.fault.code, distance);
}

static void demonstrate(void)
{
    memory = @NAME@_initial_memory;
    program = @NAME@_initial_program;
    for (int32_t i = 0; i < @JOINTS@; ++i) {
        program.gains.viscous[i] = 0.0; /* the simulated arm has no friction and no rotors */
        program.gains.coulomb[i] = 0.0;
        program.gains.stiction[i] = 0.0;
        program.gains.armature[i] = 0.0;
    }
    /* take over the arm where it is, then hold it */
    state.kind = @PREFIX@KIND_REQUESTS;
    ask(@PREFIX@TO_TAKE_OVER);
    run_cycle();
    show("hold", control(500));
    follow(1.0);
    show("follow", control(1500));
}

@end
@CALLS@
static double seconds(void)
{
    return (double)clock() / (double)CLOCKS_PER_SEC;
}

static void measure(const char *name, void (*call)(void))
{
    int32_t count = 1;
    double passed = 0.0;

    while ((passed < 0.05) && (count < 1000000)) {
        const double begin = seconds();
        count *= 2;
        for (int32_t k = 0; k < count; ++k) {
            call();
        }
        passed = seconds() - begin;
    }
    (void)printf("%s: %.3f us\n", name, 1e6 * passed / (double)count);
}

static void measure_all(void)
{
@MEASURES@
}

int main(void)
{
    for (int32_t i = 0; i < @JOINTS@; ++i) {
        q[i] = start[i];
        qd[i] = 0.0;
        qdd[i] = 0.0;
        tau[i] = 0.0;
    }
@if cycle
    demonstrate();
@end
    measure_all();
    return 0;
}
