"""The simulator node, whose Python can be held up, see `stalling_node`."""
from stalling_node import live

from robodyn_ros.nodes.simulator.node import main

if __name__ == '__main__':
    live(main)
