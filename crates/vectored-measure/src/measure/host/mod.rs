//! The host: its description, the features it supports, and the cost models
//! calibrated on it.

pub(crate) mod calibration;
pub(crate) mod environment;
pub(crate) mod host_probe;
