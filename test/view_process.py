"""`robodyn view` in a process of its own."""
import re

from ros_process import NodeProcess, wait_until


class ViewProcess(NodeProcess):
    """The command with some options, ended at the end of the `with` block."""

    def __init__(self, *arguments):
        super().__init__('robodyn_ros.cli.main', arguments=arguments)

    def command_line(self, settings, arguments):
        """Return what comes after the module."""
        return ['view', *arguments]

    @property
    def url(self):
        """Address of its page, as soon as it is printed."""
        wait_until(lambda: 'http://' in self.output or not self.alive, 'the address of the page')
        found = re.search(r'http://\S+', self.output)
        assert found, self.output
        return found[0]
