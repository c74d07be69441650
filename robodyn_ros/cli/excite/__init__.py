"""Excitation of an arm for identification."""
