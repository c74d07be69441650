"""The fault campaign: injections, recording, judgement and long runs; `robodyn campaign`."""
