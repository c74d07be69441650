"""Run the campaign."""

import sys

from tools.campaign.command import main

if __name__ == '__main__':  # not in the processes that it starts
    sys.exit(main())
