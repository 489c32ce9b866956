"""Tests of the built binary from the outside, as an agent host and a person use it."""
