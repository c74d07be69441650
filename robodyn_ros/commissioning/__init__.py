"""Commissioning of an arm: from its URDF to measured parameters of the controller."""
