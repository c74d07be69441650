"""Identification: parameters of an arm from a recording, and exciting motions for it."""

from robodyn_ros.identification.dry_friction import DryFriction
from robodyn_ros.identification.equations import excerpt, RegressionData
from robodyn_ros.identification.estimate import Estimate, estimate
from robodyn_ros.identification.excitation import Bounds, Excitation, Search
from robodyn_ros.identification.identified import identify
from robodyn_ros.identification.recording import Recording
from robodyn_ros.identification.recordings import read_recording, Topics
from robodyn_ros.identification.report import report
from robodyn_ros.identification.results import identified_urdf, parameters

__all__ = ['Bounds', 'DryFriction', 'Estimate', 'estimate', 'excerpt', 'Excitation',
           'identified_urdf', 'identify', 'parameters', 'read_recording', 'Recording',
           'RegressionData', 'report', 'Search', 'Topics']
