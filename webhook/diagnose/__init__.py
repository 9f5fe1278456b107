"""Look at an installation or at a job, and say what is wrong."""
