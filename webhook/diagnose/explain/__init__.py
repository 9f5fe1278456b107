"""Look at a job that was created and say why it trains slowly or does not start."""
