//! Renderings of results: the model in, text out. No I/O, no clock.
