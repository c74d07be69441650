"""Timing of the dynamics of an arm, in comparison with Pinocchio and MuJoCo."""
