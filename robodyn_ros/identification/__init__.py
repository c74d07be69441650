"""Identification: parameters of an arm from a recording, and exciting motions for it."""

from robodyn_ros.identification.equations import Excerpt, excerpt
from robodyn_ros.identification.estimate import Estimate, estimate
from robodyn_ros.identification.excitation import Bounds, Excitation, Search
from robodyn_ros.identification.recording import Recording

__all__ = ['Bounds', 'Estimate', 'estimate', 'Excerpt', 'excerpt', 'Excitation', 'Recording',
           'Search']
