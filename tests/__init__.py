"""Tests, mirroring the folders of ``runner``; ``fakes`` holds what stands in for the outside world."""
