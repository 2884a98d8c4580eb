"""Running untrusted programs: the backend contract, the pool of warm slots, and the backends themselves."""
