"""How fast the dynamics of an arm are on this machine, beside Pinocchio and MuJoCo."""
