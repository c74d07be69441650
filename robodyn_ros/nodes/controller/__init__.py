"""The controller node: control cycle, inputs, outputs, activation and shutdown."""
