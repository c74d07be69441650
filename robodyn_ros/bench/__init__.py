"""Times of the dynamics of an arm, in comparison with other libraries."""
