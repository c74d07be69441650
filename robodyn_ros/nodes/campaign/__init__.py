"""What the fault campaign does to running nodes, and what it hears of them."""
