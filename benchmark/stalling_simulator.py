"""The simulator node with signals that block its Python, see `stalling_node`."""
from stalling_node import run

from robodyn_ros.nodes.simulator.node import main

if __name__ == '__main__':
    run(main)
