"""A run that learns on a CPU in minutes: a tiny model made on the spot, the real service, the real trainer."""
