"""Tests: core beside this file, real server processes in sockets/, a real API server in apiserver/, figures in bench/."""
