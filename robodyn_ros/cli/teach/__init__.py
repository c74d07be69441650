"""Recording of an arm that is guided by hand."""
