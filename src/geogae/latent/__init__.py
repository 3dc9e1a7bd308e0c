"""What people do with z: describe, sample, interpolate, search, optimise."""
